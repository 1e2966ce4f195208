/**
 * Which units of the two sides of a line belong together.
 *
 * A line is {source, text, alignment, units: {source, target}}. Links are a function of a side and
 * a unit of it; it returns the weight of each unit of the other side, from 0 to 1.
 */

const REACH = 40;  // characters of tokens that the model reads as something else
const OTHER = {source: "target", target: "source"};

/** Whether all units are words as the engine counts them, so that its alignment says it all. */
export const isSpaced = (line) =>
  Object.values(line.units).every((units) => units.every((unit, i) => unit.word === i));

/** Links by an alignment in Pharaoh format: "0-0 1-2". */
export function alignmentLinks(line) {
  const pairs = line.alignment.split(" ").map((pair) => {
    const [source, target] = pair.split("-").map(Number);
    return {source, target};
  });
  return (side, i) => {
    const {word} = line.units[side][i];
    const linked = new Set(pairs.filter((p) => p[side] === word).map((p) => p[OTHER[side]]));
    return line.units[OTHER[side]].map((unit) => linked.has(unit.word) ? 1 : 0);
  };
}

/** Links by the weights of cross-attention, [target token][source token]. */
export function attentionLinks(line, weights, role) {
  const rows = unitsOfTokens(role.rows.tokens, line.text, line.units.target);
  const columns = unitsOfTokens(role.columns.tokens, line.source, line.units.source);
  const sums = line.units.target.map(() => line.units.source.map(() => 0));
  const sizes = line.units.target.map((_, i) => rows.filter((row) => row === i).length);
  rows.forEach((i, row) => columns.forEach((j, column) => {
    if (i >= 0 && j >= 0) sums[i][j] += weights[row][column] / sizes[i];
  }));
  return (side, i) => side === "target" ? sums[i] : sums.map((row) => row[i]);
}

/** The number of the unit of each token; -1: it is not in the text, or is the end. */
function unitsOfTokens(tokens, text, units) {
  let end = 0;
  return tokens.map((token) => {
    const start = text.indexOf(token.text, end);
    if (start < 0 || start > end + REACH) return -1;
    end = start + token.text.length;
    return units.findIndex((unit) => unit.start <= start && start < unit.end);
  });
}
