// Divides text into sentences, with the same result as sentencex (MIT, see sentences.LICENSE).
// SENTENCE_RULES holds its rules (sentences.json), or those of some languages (sentences.py).
//
// Empty lines divide paragraphs. In a paragraph, a sentence ends after a run of terminators unless
// the words around it continue the sentence, or it is inside a quotation, brackets, an address or
// an item of a list. Lengths that sentencex measures in bytes are in bytes of UTF-8 here, too.
const segmentSentences = (() => {
  const { terminators, bullets, quotes, exclamations, english } = SENTENCE_RULES;
  const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}"; // \w and \s of Rust
  const regex = (source, flags = "u") =>
    new RegExp(source.replaceAll("\\w", WORD).replaceAll("\\s", "\\p{White_Space}"), flags);
  const SPACE = regex("\\s");
  const SPACES = regex("\\s*", "uy");
  const CAPITAL = /^[A-Z]/;
  const UPPER = /^\p{Uppercase}/u;
  const LOWER = /^\p{Lowercase}/u;
  const LETTER = /^\p{Alphabetic}/u;
  const DIGIT = /[0-9]/;
  const GOES_ON = regex("^[^\\w]*[0-9a-z]");
  const REFERENCES = regex("^(?:\\s*\\[\\p{Nd}+\\])+");
  const CLOSING = regex(`^[\\s${terminators}]*`);
  const FIRST_WORD = regex(`^[^\\s,${terminators}]*`);
  const INITIAL = regex("^\\s*[A-Z]\\.(?:\\s|$)");
  const SPACE_OR_SLASH = regex("[\\s/]");
  const SPACE_DOT_OR_SLASH = regex("[\\s./]");
  const TOKENS = regex("[^\\s,;–—]+", "gu");
  const [WORD_BEFORE, WORD_AFTER] = [regex("[\\w]$"), regex("^[\\w]")];
  const [LETTER_BEFORE, LETTER_AFTER] = [/[\p{Alphabetic}\p{N}]$/u, /^[\p{Alphabetic}\p{N}]/u];
  const INNER_BREAK = /\.[ \t]+[A-Z]/;
  const UTTERANCE = /[ \t]+[A-Z]/y;
  const PARAGRAPHS = /(\n\r*\n)/;
  const LONG = 10240; // bytes

  // ---- text --------------------------------------------------------------------------------------

  const width = (code) => (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
  const size = (text) => {
    let sum = 0;
    for (const character of text) sum += width(character.codePointAt(0));
    return sum;
  };
  const following = (text, start) => {
    let end = start; // after 30 bytes, rounded up to whole characters
    for (let left = 30; left > 0 && end < text.length; end += text.codePointAt(end) > 0xffff ? 2 : 1)
      left -= width(text.codePointAt(end));
    return text.slice(start, end);
  };
  const before = (text, place) => text.slice(Math.max(0, place - 2), place); // a character at least
  const after = (text, place) => text.slice(place, place + 2);
  const isSpace = (text, place) => SPACE.test(text.charAt(place));
  const matchEnd = (sticky, text, place) => {
    sticky.lastIndex = place;
    return sticky.test(text) ? sticky.lastIndex : -1;
  };
  const withoutSpace = (text) => text.slice(matchEnd(SPACES, text, 0));
  const backWhile = (test, text, end) => {
    while (end > 0 && test(text[end - 1])) end--;
    return end;
  };
  const skipBack = (pattern, text, end) => backWhile((c) => pattern.test(c), text, end);
  const wordBefore = (separator, text, end) =>
    text.slice(backWhile((c) => !separator.test(c), text, end), end);
  function* occurrences(text, token, from = 0) {
    for (let at; (at = text.indexOf(token, from)) >= 0; from = at + token.length) yield at;
  }
  const countBelow = (values, limit) => {
    let base = 0; // the steps of Rust's partition_point, for values that are not sorted
    for (let length = values.length; length > 1; length -= length >> 1)
      if (values[base + (length >> 1)] < limit) base += length >> 1;
    return values[base] < limit ? base + 1 : base;
  };

  // ---- languages ---------------------------------------------------------------------------------

  const compile = (rules, special) => {
    const own = terminators.replace(rules.without ?? "", "") + (rules.terminators ?? "");
    const spaced = rules.terminators ? "" : "\\.(?:[ \\t]+\\.){2,}|[!?…](?:[ \\t]+[!?…])+|";
    return {
      abbreviations: new Set(rules.abbreviations.flatMap((name) => SENTENCE_RULES.lists[name])),
      starters: new Set(special?.starters),
      fronting: new Set(special?.fronting),
      markers: special?.markers ?? [],
      runs: regex(`${spaced}[${own}]+`, "gu"),
      runHere: regex(`${spaced}[${own}]+`, "uy"),
      continues: regex(rules.continues ?? "^[0-9a-z]|^\\s*(?:``|''|[`'\"‚‛‟])?\\s*,"),
      ellipsis: regex(special ? "^\\s+(?:[0-9a-z]|I(?:[\\s'’]|$))" : "^\\s+[0-9a-z]"),
      separator: regex(rules.word ? "[\\s.]" : "[\\s./]"),
      trailing: regex({ untrimmed: "[]", trailing: "[\\s.]" }[rules.word] ?? "\\s"),
      elides: rules.word === "untrimmed",
    };
  };
  const [codes, languages] = ["codes", "languages"].map((k) => new Map(Object.entries(SENTENCE_RULES[k])));
  const compiled = new Map();
  const languageOf = (code) => {
    const name = codes.get(code) ?? (languages.has(code) ? code : "en");
    if (!compiled.has(name))
      compiled.set(name, compile(languages.get(name), name === "en" ? english : null));
    return compiled.get(name);
  };

  // ---- quotations, brackets and addresses, in which no sentence ends -----------------------------

  const symmetric = quotes.filter(([open, close]) => open === close).map(([open]) => open);
  const padded = quotes.filter(([open, close, guarded]) => guarded && open === close).map(([open]) => open);
  const closers = [...new Set(quotes.map(([, close]) => close))].sort((a, b) => size(b) - size(a));
  const openers = `[${[...new Set(quotes.map(([open]) => open[0]))].join("")}]`;

  function* quotations(text) {
    const next = quotes.map(() => -1); // the next closing mark of each kind
    const isClosing = (close, at) =>
      text[at - 1] !== close && !isSpace(text, at - 1) && !WORD_AFTER.test(after(text, at + 1));
    const closing = ([, close, guarded], kind, from) => {
      for (; next[kind] < from || (guarded && next[kind] < Infinity && !isClosing(close, next[kind])); ) {
        const at = text.indexOf(close, Math.max(from, next[kind] + 1));
        next[kind] = at < 0 ? Infinity : at;
      }
      return next[kind] + close.length;
    };
    const pairEnd = (quote, kind, start) => {
      const inside = start + quote[0].length;
      if (!text.startsWith(quote[0], start)) return Infinity;
      if (!quote[2]) return closing(quote, kind, inside);
      const isOpen = !WORD_BEFORE.test(before(text, start)) && WORD_AFTER.test(after(text, inside));
      return isOpen ? closing(quote, kind, inside + 1) : Infinity;
    };
    const lineEnd = ([open, close, guarded], _, start) => {
      if (!guarded || text[start] !== open || (start && text[start - 1] !== "\n")) return Infinity;
      const end = text.includes("\n", start) ? text.indexOf("\n", start) : text.length;
      return end > start + 2 && text[end - 1] === close ? end : Infinity;
    };
    const pattern = new RegExp(openers, "g");
    for (let found; (found = pattern.exec(text)); ) {
      const start = found.index;
      let end = Infinity;
      for (const ending of [pairEnd, lineEnd])
        for (let kind = 0; end === Infinity && kind < quotes.length; kind++)
          end = ending(quotes[kind], kind, start);
      if (end === Infinity) continue;
      const [open, close] = quotes.find(([mark]) => text.startsWith(mark, start));
      yield { start, end, isQuote: true, token: open === close ? open : null };
      pattern.lastIndex = end;
    }
  }

  const coverOf = (ranges) => {
    const [starts, reach] = [[], []];
    const add = ({ start, end, isQuote }) => {
      starts.push(start);
      reach.push(Math.max(reach[reach.length - 1] ?? 0, isQuote ? end : 0));
    };
    ranges.forEach(add);
    return { add, isQuoted: (place) => place < reach[countBelow(starts, place + 1) - 1] };
  };
  const isMark = (text, at, token, cover) =>
    !cover.isQuoted(at) &&
    !(LETTER_BEFORE.test(before(text, at)) && LETTER_AFTER.test(after(text, at + token.length)));

  // Quotations with a space after the opening mark.
  const addPadded = (text, ranges) => {
    const cover = coverOf(ranges);
    const opens = (at) => (at === 0 || isSpace(text, at - 1)) && isSpace(text, at + 1);
    const breaks = (start, end) => INNER_BREAK.test(text.slice(start + 1, end));
    const opensNext = (at, token) => {
      if (!opens(at)) return false;
      for (const next of occurrences(text, token, at + 1))
        if (isMark(text, next, token, cover)) return !breaks(at, next);
      return false;
    };
    const pairs = (start, end, token) =>
      opens(start) &&
      !(matchEnd(UTTERANCE, text, end + 1) >= 0 && breaks(start, end) && opensNext(end, token));
    for (const token of padded) {
      let opener = -1;
      for (const at of occurrences(text, token)) {
        if (!isMark(text, at, token, cover)) continue;
        if (opener >= 0 && pairs(opener, at, token)) {
          ranges.push({ start: opener, end: at + 1, isQuote: true, token });
          cover.add(ranges[ranges.length - 1]);
          opener = -1;
        } else opener = at;
      }
    }
  };

  const rangesOf = (text) => {
    const ranges = [...quotations(text)];
    addPadded(text, ranges);
    for (const { 0: found, index: start } of text.matchAll(/[(（<{[][^)\]}>）]*(?:[)\]}>）]|$)/g)) {
      const end = start + found.length;
      if (")]}>）".includes(text[end - 1])) ranges.push({ start, end, isBracket: true });
    }
    let last = 0;
    for (const { 0: found, index } of text.matchAll(/@[A-Za-z0-9.-]+\.[A-Z|a-z]{2,7}/g)) {
      const start = Math.max(last, skipBack(/[A-Za-z0-9._%+-]/, text, index));
      if (start < index) ranges.push({ start, end: (last = index + found.length) });
    }
    ranges.sort((a, b) => a.start - b.start);
    const brackets = ranges.filter(({ isBracket }) => isBracket);
    const starts = brackets.map(({ start }) => start);
    const around = (place) => {
      const bracket = brackets[countBelow(starts, place) - 1];
      return bracket && place < bracket.end ? bracket : { start: -Infinity, end: Infinity };
    };
    const counts = new Map(symmetric.map((token) => [token, text.split(token).length - 1]));
    for (const range of ranges.filter(({ token }) => token)) {
      range.crosses = around(range.start).end < range.end || around(range.end).start > range.start;
      range.isDoubtful = counts.get(range.token) % 2 === 1;
    }
    return ranges;
  };

  // ---- items of lists ----------------------------------------------------------------------------

  const [TOP, ROMAN, , BULLET, LETTER_PAREN, LETTER_DOT] = [1, 2, 3, 4, 5, 6];
  const ROMANS = "[ivxlcdmIVXLCDM]";
  const ITEM = new RegExp(
    `(?:([${bullets}]|\\((?:[0-9]{1,2}|[A-Za-z]|${ROMANS}+)\\))|(${ROMANS}{2,}(?:\\.?\\)|\\.))|` +
      "([0-9]+(?:\\.?\\)|\\.))|([*+-])|([A-Za-z]\\.?\\))|([a-z]\\.))[ \\t]+(?=[^ \\t\\r\\n])",
    "y",
  );

  const candidates = (text) => {
    const found = [];
    const add = (place, at, isInline) => {
      ITEM.lastIndex = at;
      const match = ITEM.exec(text);
      if (!match) return;
      const family = match.findIndex((group, k) => k && group);
      const isProse = family === BULLET || match[family].endsWith(".") || LOWER.test(after(text, ITEM.lastIndex));
      if (!(isInline && isProse)) found.push({ place, family, first: match[family][0], isInline });
    };
    for (let start = 0, end; start < text.length; start = end) {
      end = text.indexOf("\n", start) + 1 || text.length;
      const content = matchEnd(/[ \t]*/y, text, start);
      add(start, content, false);
      for (const { 0: gap, index } of text.slice(content, end).matchAll(/[ \t]+/g)) {
        const place = content + index + gap.length;
        if (place === end || "\r\n".includes(text[place])) break;
        add(place, place, true);
      }
    }
    return found;
  };

  const itemsOf = (text) => {
    const found = candidates(text);
    const hasRoman = found.some(({ family }) => family === ROMAN);
    const last = new Map();
    const counts = new Map();
    const kept = found.filter((item) => {
      const isLetter = item.family === LETTER_PAREN || item.family === LETTER_DOT;
      if (hasRoman && isLetter && ROMANS.includes(item.first)) item.family = ROMAN;
      const { place, family } = item;
      const start = last.get(family) ?? -4;
      if (place - start < 4 && size(text.slice(start, place)) < 4) return false;
      last.set(family, place);
      counts.set(family, (counts.get(family) ?? 0) + 1);
      return true;
    });
    let best = kept.some(({ family, isInline }) => family === TOP && !isInline) ? TOP : 0;
    if (counts.get(TOP) >= 2) best = TOP;
    if (best !== TOP)
      for (const { family } of kept)
        if (family !== TOP && counts.get(family) >= 2 && !(counts.get(best) >= counts.get(family))) best = family;
    return kept.filter(({ family }) => family === best).map(({ place }) => place);
  };

  // ---- the words around a terminator -------------------------------------------------------------

  const lastWord = (own, text, end) => {
    const word = wordBefore(own.separator, text, skipBack(own.trailing, text, end));
    return own.elides ? word.split("l'").pop() : word;
  };
  const isInitial = (word) => word.length === 1 && CAPITAL.test(word);
  const isAbbreviation = (own, word) => own.abbreviations.has(word.toLowerCase());
  const isDotted = (own, text, end, word) => {
    const whole = wordBefore(SPACE_OR_SLASH, text, skipBack(SPACE, text, end));
    return whole.length > word.length && isAbbreviation(own, whole);
  };
  const beginsSentence = (own, next) => own.starters.has(FIRST_WORD.exec(withoutSpace(next))[0]);
  const isName = (own, text, start, word, next) =>
    isInitial(word) &&
    (CAPITAL.test(lastWord(own, text, skipBack(SPACE_DOT_OR_SLASH, text, start - 1))) || INITIAL.test(next));

  const markerBefore = (own, text, start) => {
    const end = skipBack(SPACE, text, start);
    const tail = text.slice(Math.max(0, end - 8), end);
    const lower = tail.toLowerCase();
    for (const [suffix, flags] of own.markers) {
      if (!(flags.includes("i") ? lower : tail).endsWith(suffix)) continue;
      const at = end - suffix.length;
      const isAfter = flags.includes("d")
        ? DIGIT.test(text.charAt(skipBack(SPACE, text, at) - 1))
        : at === 0 || isSpace(text, at - 1) || DIGIT.test(text[at - 1]);
      if (isAfter) return { at, breaksBeforeNumber: flags.includes("b") };
    }
    return null;
  };
  const areFronting = (own, text) => {
    for (const [token] of text.matchAll(TOKENS)) {
      const bare = token.slice(0, backWhile((c) => c === ".", token, token.length));
      const isFronting = own.fronting.has(bare.toLowerCase()) || isAbbreviation(own, bare);
      if (!(isFronting || /^[0-9:]*$/.test(bare) || UPPER.test(bare))) return false;
    }
    return true;
  };
  const isAdverbial = (own, text) => {
    let from = 0;
    for (const { start, end } of quotations(text)) {
      if (!areFronting(own, text.slice(from, start))) return false;
      from = end;
    }
    return areFronting(own, text.slice(from));
  };
  const markerBreaks = (own, text, { at, breaksBeforeNumber }, next, isStarter) => {
    const rest = withoutSpace(next);
    if (/^[A-Z]\./.test(rest)) return false;
    if (/^[0-9]/.test(rest)) return breaksBeforeNumber;
    if (!UPPER.test(rest) || isStarter) return UPPER.test(rest);
    const end = backWhile((c) => SPACE.test(c) || /[0-9:]/.test(c), text, at);
    return !CAPITAL.test(wordBefore(SPACE, text, end)) && !isAdverbial(own, text.slice(0, at));
  };

  const isAbbreviated = (own, text, start, word, next) => {
    const marker = markerBefore(own, text, start);
    if (!marker && !isAbbreviation(own, word) && !isName(own, text, start, word, next)) return false;
    const isStarter = beginsSentence(own, next);
    if (marker && markerBreaks(own, text, marker, next, isStarter)) return false;
    const isWhole = ([...word].length > 1 && own.abbreviations.has(word)) || CAPITAL.test(word);
    return !(isStarter && (isWhole || isDotted(own, text, start, word)));
  };
  const isContinued = (own, text, start, run, next) => {
    if (run.length > (run.codePointAt(0) > 0xffff ? 2 : 1))
      return own.ellipsis.test(next) || (start > 0 && !isSpace(text, start - 1) && /^[0-9a-z]/.test(next));
    const isApart = "!?".includes(run) && /[ \t]/.test(text.charAt(start - 1));
    return own.continues.test(next) || (isApart && GOES_ON.test(next));
  };

  // Where a sentence ends that has a run of terminators at [start, end), or -1.
  const boundaryOf = (own, text, start, end) => {
    const run = text.slice(start, end);
    const next = following(text, end);
    const references = REFERENCES.exec(next);
    if (references) return end + references[0].length;
    if (isContinued(own, text, start, run, next)) return -1;
    // Only exclamations are looked up before other signs: spare languages without spaces long words.
    const from = run === "." ? 0 : Math.max(0, skipBack(own.trailing, text, start) - 10);
    const word = lastWord(own, text.slice(from), start - from);
    if (run === ".") {
      if (DIGIT.test(text.charAt(start - 1)) && LETTER.test(next) && DIGIT.test(next)) return -1;
      if (isAbbreviated(own, text, start, word, next)) return -1;
    }
    return exclamations.includes(word) ? -1 : end + next.length - withoutSpace(next).length;
  };

  // ---- paragraphs --------------------------------------------------------------------------------

  const runsOf = (own, text) => {
    const runs = [];
    for (const { 0: run, index } of text.matchAll(own.runs)) {
      const last = runs[runs.length - 1];
      const isDots = /^\.[. \t]*$/.test(run) && last && "!?…".includes(text[last.end - 1]);
      if (isDots && /^[ \t]+$/.test(text.slice(last.end, index))) last.end = index + run.length;
      else runs.push({ start: index, end: index + run.length });
    }
    return runs;
  };

  // A full stop that certainly ends a sentence, within marks that may not be a pair.
  const isCertain = (own, text, { start, end }) => {
    const next = withoutSpace(following(text, end));
    if (text.slice(start, end) !== "." || !CAPITAL.test(next)) return false;
    const word = lastWord(own, text, start);
    if (!word || isInitial(word) || isAbbreviation(own, word) || isDotted(own, text, start, word)) return false;
    return symmetric.includes(word) || beginsSentence(own, next);
  };

  // After a quotation whose last sentence ends at its closing mark, or -1.
  const quotationEnd = (own, text, { end, isQuote }, boundary) => {
    if (!isQuote || !closers.some((c) => boundary + c.length === end && text.startsWith(c, boundary))) return -1;
    const next = following(text, end);
    if (own.continues.test(withoutSpace(next)) || GOES_ON.test(next)) return -1;
    return end + CLOSING.exec(next)[0].length;
  };

  // After a closing mark that has no opening one, and the terminators after it.
  const afterOrphan = (own, text, ranges, marksOf, boundary) => {
    const isOrphan = (closer) => {
      if (!symmetric.includes(closer)) return true;
      const marks = marksOf(closer);
      const n_before = countBelow(marks, boundary);
      return n_before % 2 === 1 || (n_before === 0 && marks.length === 1);
    };
    const closer = closers.find((c) => text.startsWith(c, boundary) && isOrphan(c));
    if (!closer) return boundary;
    const opensNext =
      symmetric.includes(closer) &&
      (boundary === 0 || isSpace(text, boundary - 1)) &&
      matchEnd(UTTERANCE, text, boundary + closer.length) >= 0 &&
      ranges.some(({ start, end, token }) => token && end <= boundary && text.startsWith(closer, start));
    if (opensNext) return boundary;
    let end = matchEnd(SPACES, text, boundary + closer.length);
    for (let run; (run = matchEnd(own.runHere, text, end)) >= 0; ) end = matchEnd(SPACES, text, run);
    return end;
  };

  const divide = (own, text) => {
    const ranges = rangesOf(text);
    const items = itemsOf(text);
    const itemStarts = new Set(items);
    const starts = new Set([...ranges.map(({ start }) => start), ...items]);
    const known = new Map();
    const marksOf = (token) => {
      if (!known.has(token)) {
        const cover = coverOf([...ranges, ...items.map((start) => ({ start }))]);
        known.set(token, [...occurrences(text, token)].filter((at) => isMark(text, at, token, cover)));
      }
      return known.get(token);
    };
    let ends = [0];
    let first = 0; // of the ranges that do not end before the boundary
    for (const run of runsOf(own, text)) {
      const boundary = boundaryOf(own, text, run.start, run.end);
      if (boundary < 0) continue;
      while (first < ranges.length && ranges[first].end <= boundary) first++;
      let k = first;
      const encloses = ({ end, crosses, isDoubtful }) =>
        end > boundary && !crosses && !(isDoubtful && isCertain(own, text, run));
      while (k < ranges.length && ranges[k].start < boundary && !encloses(ranges[k])) k++;
      let end = boundary;
      if (k < ranges.length && ranges[k].start < boundary) end = quotationEnd(own, text, ranges[k], boundary);
      else if (items.length && boundary > items[0] && boundary < text.length && !itemStarts.has(boundary)) end = -1;
      else if (!starts.has(boundary)) end = afterOrphan(own, text, ranges, marksOf, boundary);
      if (end > ends[ends.length - 1]) ends.push(end);
    }
    ends = [...new Set([...ends, ...items, text.length])].sort((a, b) => a - b);
    return ends.slice(1).map((end, k) => text.slice(ends[k], end));
  };

  return (language, text) => {
    const own = languageOf(language);
    const sentences = [];
    const isLong = size(text) > LONG;
    let room = 0; // in a section of a long text: empty lines between sections are left out
    const parts = text.split(PARAGRAPHS);
    for (let k = 0; k < parts.length; k += 2) {
      const needed = size(parts[k]) + (k ? parts[k - 1].length : 0);
      const isLast = k === parts.length - 1 && parts[k] === "";
      const isJoined = k > 0 && (!isLong || (needed <= room && !isLast));
      if (isJoined) sentences.push(parts[k - 1]);
      room = isJoined ? room - needed : LONG - size(parts[k]);
      for (const sentence of divide(own, parts[k])) sentences.push(sentence);
    }
    return sentences;
  };
})();
