/** The reference of the API: the routes of /spec, with their parameters, bodies and responses. */

import {get} from "./api.js";
import {byId, element} from "./dom.js";
import {t, translateDocument} from "./strings.js";

/** A readable type of a schema: "array of string", "integer or null". */
export function typeOf(schema, definitions = {}) {
  if (schema.$ref) return typeOf(definitions[schema.$ref.split("/").at(-1)] ?? {}, definitions);
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return several.map((each) => typeOf(each, definitions)).join(" or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  const inner = schema.items ?? schema.prefixItems?.[0];
  if (schema.type === "array") return inner ? `array of ${typeOf(inner, definitions)}` : "array";
  return schema.format ? `${schema.type} (${schema.format})` : schema.type ?? "any";
}

const LIMITS = {minimum: "≥", maximum: "≤", minLength: "length ≥", minItems: "items ≥"};

/** What a schema says besides the type: description, default and limits. */
function remarksOf(schema) {
  const limits = Object.entries(LIMITS).filter(([key]) => key in schema)
    .map(([key, sign]) => `${sign} ${schema[key]}`);
  const initial = "default" in schema ? [`default ${JSON.stringify(schema.default)}`] : [];
  return [schema.description, ...limits, ...initial].filter(Boolean).join("; ");
}

const row = (...cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));
const code = (text) => element("code", {}, text);

function table(titles, rows) {
  const head = element("tr", {}, ...titles.map((key) => element("th", {scope: "col"}, t(key))));
  return element("div", {class: "scroll", tabindex: "0", role: "group", "aria-label": t(titles[0])},
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function propertiesOf(schema) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, each]) => row(
    code(name), typeOf(each, schema.$defs) + (required.has(name) ? `, ${t("required")}` : ""),
    remarksOf(each)));
}

function parametersOf({parameters = []}) {
  if (!parameters.length) return [];
  const rows = parameters.map(({name, schema, required, description}) => row(
    code(name), typeOf(schema ?? {}) + (required ? `, ${t("required")}` : ""), description ?? ""));
  return [element("h3", {}, t("parameters")), table(["name", "type", "meaning"], rows)];
}

function bodyOf({requestBody}) {
  const kinds = Object.entries(requestBody?.content ?? {});
  if (!kinds.length) return [];
  const names = kinds.map(([kind]) => kind).join(", ");
  return [element("h3", {}, t("body")), element("p", {class: "note"}, code(names)),
          table(["name", "type", "meaning"], propertiesOf(kinds[0][1].schema))];
}

function responsesOf({responses = {}}) {
  const rows = Object.entries(responses).map(([status, {description, content = {}}]) => {
    const [[kind, {schema = {}} = {}] = []] = Object.entries(content);
    const fields = Object.keys((schema.items ?? schema).properties ?? {}).join(", ");
    const made = schema.type && schema.type !== "object" ? typeOf(schema) : "";
    return row(code(status), description,
               [kind, made, fields && `{${fields}}`].filter(Boolean).join(" · "));
  });
  return [element("h3", {}, t("responses")), table(["status", "meaning", "content"], rows)];
}

const routeOf = (path, method, operation) => element("details", {id: `${method}${path}`},
  element("summary", {}, element("span", {class: "method"}, method.toUpperCase()), code(path),
          element("span", {}, operation.description ?? operation.summary ?? "")),
  element("div", {class: "body"}, ...parametersOf(operation), ...bodyOf(operation),
          ...responsesOf(operation)));

async function start() {
  translateDocument();
  try {
    const {paths} = await get("spec");
    byId("routes").replaceChildren(...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => routeOf(path, method, operation))));
  } catch (error) {
    byId("alert").textContent = error.message;
  }
}

start();
