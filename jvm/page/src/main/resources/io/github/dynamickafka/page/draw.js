"use strict";
// Values to text and to what is drawn. Pure: nothing here touches the document.
const Draw = (() => {
  const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
  const MOST_SERIES = 8;
  const MOST_POINTS = 450;
  const RATE_MS = 10000;

  const number = value => (value == null ? "\u2013" : whole.format(value));

  const compact = value => (value == null ? "\u2013" : short.format(value));

  const rate = value => (value == null ? "\u2013" : value > 0 && value < 10 ? value.toFixed(1) : whole.format(value));

  function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
    return `${unit && value < 10 ? value.toFixed(1) : whole.format(value)} ${units[unit]}`;
  }

  function duration(ms) {
    if (ms == null || ms < 0) return "\u2013";
    if (ms < 1000) return `${Math.round(ms)} ms`;
    const s = Math.floor(ms / 1000);
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
    return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
  }

  const two = n => String(n).padStart(2, "0");

  function clock(ms, rangeMs = 0) {
    const d = new Date(ms);
    const time = `${two(d.getHours())}:${two(d.getMinutes())}`;
    if (rangeMs > 20 * 3600 * 1000) return `${d.getMonth() + 1}/${d.getDate()} ${time}`;
    return rangeMs > 2 * 3600 * 1000 ? time : `${time}:${two(d.getSeconds())}`;
  }

  // Points that are known, with those that have been received.
  function merge(known, received) {
    const last = known.at.length ? known.at[known.at.length - 1] : 0;
    const first = received.at.findIndex(at => at > last);
    if (first < 0) return known;
    const at = known.at.concat(received.at.slice(first));
    const cut = Math.max(0, at.length - MOST_POINTS);
    const clusters = {};
    for (const id of new Set([...Object.keys(known.clusters), ...Object.keys(received.clusters)])) {
      const column = name => {
        const before = known.clusters[id]?.[name] ?? Array(known.at.length).fill(null);
        const more = received.clusters[id]?.[name] ?? Array(received.at.length).fill(null);
        return before.concat(more.slice(first)).slice(cut);
      };
      const merged = { lag: column("lag"), records: column("records") };
      if (merged.records.some(value => value != null)) clusters[id] = merged;
    }
    return { at: at.slice(cut), clusters };
  }

  // Records per second at each point, over the last ten seconds: batches end once in a while.
  function rates(at, records) {
    let from = 0;
    return records.map((value, i) => {
      while (at[from] < at[i] - RATE_MS || (records[from] == null && from < i)) from++;
      if (value == null || from >= i || records[from] == null) return null;
      return Math.max(0, (value - records[from]) * 1000 / (at[i] - at[from]));
    });
  }

  // A cluster that is not read any more has none, whatever it had before.
  const latest = values => values[values.length - 1] ?? null;

  // The clusters with the largest latest values, and the sum of all others.
  function series(columns) {
    const ids = Object.keys(columns).sort((a, b) => (latest(columns[b]) ?? -1) - (latest(columns[a]) ?? -1) || (a < b ? -1 : 1));
    const chosen = ids.slice(0, ids.length > MOST_SERIES ? MOST_SERIES - 1 : MOST_SERIES).sort();
    const rest = ids.filter(id => !chosen.includes(id));
    const all = chosen.map(id => ({ id, name: id, values: columns[id] }));
    if (rest.length) {
      const values = columns[rest[0]].map((_, i) => {
        const known = rest.map(id => columns[id][i]).filter(value => value != null);
        return known.length ? known.reduce((a, b) => a + b, 0) : null;
      });
      all.push({ id: null, name: `${rest.length} other clusters`, values });
    }
    return all;
  }

  // A cluster keeps its color as long as it is drawn.
  function colors(known, chosen) {
    const kept = new Map([...known].filter(([id]) => chosen.includes(id)));
    const used = new Set(kept.values());
    const free = [...Array(MOST_SERIES).keys()].filter(slot => !used.has(slot));
    for (const id of chosen) if (id != null && !kept.has(id)) kept.set(id, free.shift());
    return kept;
  }

  // Bars of the timeline, in percent of its width.
  function bars(spans, from, until) {
    const width = Math.max(1, until - from);
    const rows = new Map();
    for (const span of spans) {
      if (span.until < from) continue;
      const left = Math.max(0, (span.from - from) / width * 100);
      const right = Math.min(100, (span.until - from) / width * 100);
      if (!rows.has(span.cluster)) rows.set(span.cluster, []);
      rows.get(span.cluster).push({ state: span.state, unreachable: span.unreachable, left, width: Math.max(0, right - left), from: span.from, until: span.until });
    }
    return [...rows].sort((a, b) => (a[0] < b[0] ? -1 : 1));
  }

  const ticks = (from, until) => [0, 1, 2, 3, 4].map(i => clock(from + (until - from) * i / 4, until - from));

  return { number, compact, rate, bytes, duration, clock, merge, rates, latest, series, colors, bars, ticks };
})();
