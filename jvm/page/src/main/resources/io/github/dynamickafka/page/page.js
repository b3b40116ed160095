"use strict";
(() => {
  const POLL_MS = 2000;
  const PERIODS = [["0", "since the start"], ["900000", "15 minutes"], ["3600000", "1 hour"], ["86400000", "1 day"]];
  const queries = new Map();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let answeredAt = 0, shown = null, parts = null;

  const el = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
      if (name === "class") element.className = value; else if (value != null) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const byId = id => document.getElementById(id);
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const text = (element, value) => { if (element.textContent !== value) element.textContent = value; };

  // A query and its points, which are received once.
  function receive(answer) {
    const keys = new Set();
    for (const query of answer.queries) {
      const key = `${query.name}/${query.part}/${query.started}`;
      keys.add(key);
      const known = queries.get(key);
      query.key = key;
      query.points = Draw.merge(known?.points ?? { at: [], clusters: {} }, query.points);
      query.rates = {};
      for (const [id, cluster] of Object.entries(query.points.clusters))
        query.rates[id] = Draw.rates(query.points.at, cluster.records);
      query.now = answer.now;
      query.isSink = query.part === "sink";
      queries.set(key, query);
    }
    for (const key of [...queries.keys()]) if (!keys.has(key)) queries.delete(key);
  }

  const since = () => {
    const last = [...queries.values()].filter(q => q.ended == null).map(q => q.points.at[q.points.at.length - 1] ?? 0);
    return last.length ? Math.min(...last) : 0;
  };

  async function poll() {
    try {
      const response = await fetch(`data.json?since=${since()}`, { signal: AbortSignal.timeout(10000) });
      if (response.status === 401) { location.reload(); return; }
      if (!response.ok) throw new Error(String(response.status));
      const answer = await response.json();
      answeredAt = Date.now();
      receive(answer);
      text(byId("application"), answer.application);
      document.title = `${answer.application} \u2013 Dynamic Kafka`;
      status("Live, updated every 2 seconds", false);
      draw();
    } catch (e) {
      status(answeredAt
        ? `The driver does not respond: values are those of ${Draw.clock(answeredAt)}. Trying again.`
        : "The driver does not respond. Trying again.", true);
    }
    setTimeout(poll, POLL_MS);
  }

  function status(message, problem) {
    text(byId("status"), message);
    byId("status").className = problem ? "problem" : "";
  }

  const what = query => (query.isSink ? "writes" : "reads");

  // Running queries come first.
  const ordered = () => [...queries.values()].sort((a, b) =>
    (a.ended != null) - (b.ended != null) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) ||
    a.part.localeCompare(b.part) || b.started - a.started);

  function draw() {
    const all = ordered();
    menu(all);
    const wanted = decodeURIComponent(location.hash.slice(1));
    const query = queries.get(wanted) ?? queries.get(shown) ?? all[0];
    if (!query) {
      shown = null;
      parts = null;
      byId("query").replaceChildren(el("p", { class: "empty" },
        "No query is shown. A streaming query with the option ui=true appears here when its first batch is planned."));
      return;
    }
    if (shown !== query.key || !parts) {
      shown = query.key;
      parts?.charts.forEach(chart => chart.destroy());
      parts = layout(query);
      byId("query").replaceChildren(...parts.elements);
    }
    for (const link of byId("queries").querySelectorAll("a"))
      if (link.dataset.key === shown) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    parts.update(query);
  }

  function menu(all) {
    const list = byId("queries");
    if ([...list.children].map(item => item.firstChild.dataset.key).join("\n") !== all.map(q => q.key).join("\n")) {
      const focused = document.activeElement?.dataset?.key;
      list.replaceChildren(...all.map(query => {
        const link = el("a", { href: `#${encodeURIComponent(query.key)}` }, query.name, el("small"));
        link.dataset.key = query.key;
        return el("li", {}, link);
      }));
      [...list.querySelectorAll("a")].find(link => link.dataset.key === focused)?.focus();
    }
    all.forEach((query, i) => {
      const state = query.ended != null ? "ended"
        : query.isSink ? `${Draw.number(query.total.recordsWritten ?? 0)} records written`
        : `lag ${Draw.number(query.total.pendingRecords ?? 0)}`;
      text(list.children[i].querySelector("small"), `${what(query)}, ${state}`);
    });
  }

  // The elements of one query, and how they follow its values.
  function layout(query) {
    const heading = el("h2", {}, query.name);
    const about = el("p", { class: "about" });
    const numbers = el("dl", { class: "tiles" });
    const charts = (query.isSink ? [throughput] : [lag, throughput]).map(chart => chart(query));
    const line = timeline(query);
    const table = clusterTable(query.isSink ? SINK : SOURCE);
    const past = el("ol", { class: "events", tabindex: "0", "aria-label": "Events, newest first" });
    return {
      charts,
      elements: [heading, about, numbers, el("div", { class: "charts" }, ...charts.map(c => c.element)),
        ...line.elements, ...table.elements, el("h3", {}, "Events"), past],
      update(q) {
        text(about, `${what(q)} ${q.title} \u00b7 started ${Draw.clock(q.started, q.now - q.started)}` +
          (q.ended != null ? `, ended ${Draw.clock(q.ended, q.now - q.started)}` : `, running for ${Draw.duration(q.now - q.started)}`));
        tiles(numbers, q);
        charts.forEach(chart => chart.update(q));
        line.update(q);
        table.update(q);
        events(past, q);
      }
    };
  }

  const totalRate = q => {
    const values = q.clusters.map(c => Draw.latest(q.rates[c.id] ?? [])).filter(v => v != null);
    return values.length ? values.reduce((a, b) => a + b, 0) : null;
  };

  function tiles(list, q) {
    const t = q.total, all = [];
    const tile = (name, value, kind = "") => all.push([name, value, kind]);
    // The same clusters as in the table.
    const count = is => q.clusters.filter(is).length;
    tile("clusters", Draw.number(q.clusters.length));
    tile("records/s", q.ended == null ? Draw.rate(totalRate(q)) : "\u2013");
    if (q.isSink) {
      tile("records written", Draw.number(t.recordsWritten ?? 0));
      tile("written", Draw.bytes(t.bytesWritten ?? 0));
      tile("open transactions", Draw.number(t.openTransactions ?? 0));
      tile("pending transactions", Draw.number(t.pendingTransactions ?? 0), t.pendingTransactions ? "busy" : "");
      tile("transaction age", `${t.transactionAgePercent ?? 0} % of limit`, t.transactionAgePercent > 40 ? "bad" : "");
      if (t.leftOutClusters) tile("clusters left out", Draw.number(t.leftOutClusters), "bad");
    } else {
      tile("lag, records", Draw.number(t.pendingRecords ?? 0));
      for (const [name, kind, is] of [["draining", "busy", c => c.state === "draining"],
        ["retained", "", c => c.state === "retained"], ["unreachable", "bad", c => c.unreachable]])
        if (count(is)) tile(name, Draw.number(count(is)), kind);
      for (const [gauge, name] of [["lostRecords", "records lost"], ["deferredRecords", "records deferred"],
        ["decodeErrors", "bad records"], ["commitsFailed", "offset commits failed"]])
        if (t[gauge]) tile(name, Draw.number(t[gauge]), "bad");
    }
    if (q.ended == null) tile("metadata read", `${Draw.duration(t.metadataAgeMs ?? 0)} ago`);
    if (t.metadataFailures) tile("metadata failures", Draw.number(t.metadataFailures), "bad");
    list.replaceChildren(...all.map(([name, value, kind]) => el("div", { class: kind }, el("dt", {}, name), el("dd", {}, value))));
  }

  const lag = query => chart("Lag by cluster, records", q =>
    Object.fromEntries(Object.entries(q.points.clusters).map(([id, c]) => [id, c.lag])), Draw.number);
  const throughput = query => chart(query.isSink ? "Records written per second, by cluster" : "Records read per second, by cluster",
    q => q.rates, Draw.rate);

  function chart(title, columns, format) {
    const plot = el("div", { class: "plot" });
    const legend = el("ul", { class: "legend" });
    const element = el("figure", {}, el("figcaption", {}, title), plot, legend);
    let uplot = null, drawn = "", slots = new Map(), all = [];
    const values = index => all.forEach((s, i) => text(legend.children[i].lastChild,
      format(index == null ? Draw.latest(s.values) : s.values[index])));
    const destroy = () => { uplot?.destroy(); uplot = null; drawn = ""; };
    function build(width) {
      const axis = { stroke: css("--muted"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 } };
      const color = s => css(`--series-${s.id == null ? 8 : slots.get(s.id)}`);
      plot.replaceChildren();
      legend.replaceChildren(...all.map(s => {
        const swatch = el("span", { class: "swatch" });
        swatch.style.background = color(s);
        return el("li", {}, swatch, el("span", { class: "name", title: s.name }, s.name), el("b"));
      }));
      uplot = new uPlot({
        width, height: 200, legend: { show: false },
        cursor: { drag: { setScale: false }, y: false },
        scales: { y: { range: (u, low, high) => [0, Math.max(high * 1.1, 1)] } },
        axes: [{ ...axis, size: 32, space: 70, values: (u, at) => at.map(s => Draw.clock(s * 1000)) },
          { ...axis, size: 56, values: (u, v) => v.map(n => (Number.isInteger(n) || n < 1 && n > 0 ? Draw.compact(n) : "")) }],
        series: [{}, ...all.map((s, i) => ({ stroke: color(s), width: 2, spanGaps: false, dash: i > 3 ? [8, 4] : undefined, points: { show: false } }))],
        hooks: { setCursor: [u => values(u.cursor.idx)] }
      }, [[], ...all.map(() => [])], plot);
    }
    return {
      element, destroy,
      update(q) {
        all = Draw.series(columns(q));
        const width = Math.floor(plot.clientWidth);
        if (q.points.at.length < 2 || !all.length || !width) {
          destroy();
          plot.replaceChildren(el("p", { class: "empty" }, "Values appear after a few seconds."));
          legend.replaceChildren();
          return;
        }
        slots = Draw.colors(slots, all.map(s => s.id));
        const wanted = JSON.stringify([all.map(s => s.name), width, dark.matches]);
        if (wanted !== drawn) { destroy(); build(width); drawn = wanted; }
        uplot.setData([q.points.at.map(at => at / 1000), ...all.map(s => s.values)]);
        if (uplot.cursor.idx == null) values(null);
      }
    };
  }

  const inWords = of => (of.unreachable ? `${of.state} and unreachable` : of.state);

  function timeline(query) {
    const period = el("select", { id: "period" }, ...PERIODS.map(([ms, name]) => el("option", { value: ms }, name)));
    const keys = (query.isSink ? ["active"] : ["active", "draining", "retained", "unreachable"]).map(state =>
      el("li", {}, el("span", { class: `key ${state}` }), state));
    const box = el("div", { class: "timeline", role: "img", tabindex: "0" });
    const update = q => {
      const until = q.ended ?? q.now;
      const from = Math.max(q.started, period.value === "0" ? 0 : until - Number(period.value));
      const rows = Draw.bars(q.spans, from, until);
      box.setAttribute("aria-label", rows.length
        ? `Topology since ${Draw.clock(from, until - from)}: ` + rows.map(([id, bars]) => `${id} ${bars.map(inWords).join(", then ")}`).join("; ")
        : "No cluster yet");
      if (!rows.length) {
        box.replaceChildren(el("p", { class: "empty" }, "No cluster yet: the query waits for its metadata or its first batch."));
        return;
      }
      const top = box.scrollTop;
      box.replaceChildren(...rows.map(([id, bars]) => el("div", { class: "row" }, el("span", { title: id }, id),
        el("div", { class: "track" }, ...bars.map(b => {
          const bar = el("div", { class: `bar ${b.state}${b.unreachable ? " unreachable" : ""}`, title: `${id}: ${inWords(b)}, ${Draw.clock(b.from, until - from)} to ${Draw.clock(b.until, until - from)}` });
          bar.style.left = `${b.left}%`;
          bar.style.width = `${b.width}%`;
          return bar;
        })))),
        el("div", { class: "row axis" }, el("span"), el("div", { class: "ticks" }, ...Draw.ticks(from, until).map(t => el("span", {}, t)))));
      box.scrollTop = top;
    };
    period.addEventListener("change", () => { if (queries.has(shown)) update(queries.get(shown)); });
    return {
      elements: [el("div", { class: "head" }, el("h3", {}, "Topology"), el("ul", { class: "legend" }, ...keys),
        el("label", { for: "period" }, "Period "), period), box],
      update
    };
  }

  const value = gauge => c => c.values[gauge];
  const SOURCE = [
    ["state", inWords, v => v],
    ["lag", value("pendingRecords"), Draw.number],
    ["records/s", c => c.rate, Draw.rate],
    ["records read", value("recordsRead"), Draw.number],
    ["event-time lag", value("eventTimeLagMs"), Draw.duration],
    ["event-time drift", value("eventTimeDriftMs"), Draw.duration],
    ["last answer", value("answerAgeMs"), v => (v == null ? "\u2013" : `${Draw.duration(v)} ago`)]
  ];
  const SINK = [
    ["state", inWords, v => v],
    ["open transactions", value("openTransactions"), Draw.number],
    ["pending transactions", value("pendingTransactions"), Draw.number],
    ["oldest", value("transactionAgeMs"), Draw.duration],
    ["time-out", value("transactionTimeoutMs"), v => (v ? Draw.duration(v) : "\u2013")],
    ["records/s", c => c.rate, Draw.rate],
    ["records written", value("recordsWritten"), Draw.number],
    ["written", value("bytesWritten"), Draw.bytes]
  ];

  function clusterTable(columns) {
    const all = [["cluster", c => c.id, v => v], ...columns];
    let by = 0, up = true;
    const body = el("tbody");
    const heads = all.map(([name], i) => {
      const button = el("button", { type: "button" }, name);
      button.addEventListener("click", () => {
        up = by === i ? !up : i < 2;
        by = i;
        if (queries.has(shown)) update(queries.get(shown));
      });
      return el("th", { scope: "col", class: i < 2 ? "text" : null }, button);
    });
    const filter = el("input", { id: "filter", type: "search", autocomplete: "off" });
    const find = el("span", {}, el("label", { for: "filter" }, "Filter "), filter);
    filter.addEventListener("input", () => { if (queries.has(shown)) update(queries.get(shown)); });
    function update(q) {
      find.hidden = q.clusters.length < 8;
      const needle = find.hidden ? "" : filter.value.trim().toLowerCase();
      const rows = q.clusters.filter(c => c.id.toLowerCase().includes(needle) || inWords(c).includes(needle))
        .map(c => ({ ...c, rate: q.ended == null ? Draw.latest(q.rates[c.id] ?? []) : null }));
      const key = all[by][1];
      rows.sort((a, b) => {
        const [x, y] = [key(a) ?? -1, key(b) ?? -1];
        return (x < y ? -1 : x > y ? 1 : a.id < b.id ? -1 : 1) * (up ? 1 : -1);
      });
      heads.forEach((head, i) => head.setAttribute("aria-sort", i === by ? (up ? "ascending" : "descending") : "none"));
      body.replaceChildren(...rows.map(c => el("tr", {}, ...all.map(([name, of, format], i) =>
        i === 0 ? el("th", { scope: "row" }, c.id)
        : i === 1 ? el("td", { class: "text" }, el("span", { class: `state ${c.state}` }, c.state),
          ...(c.unreachable ? [" ", el("span", { class: "state bad" }, "unreachable")] : []),
          ...(c.state === "retained" ? [" ", el("small", {}, "may be shut down")] : []))
        : el("td", {}, format(of(c)))))));
      if (!rows.length) body.append(el("tr", {}, el("td", { class: "text", colspan: String(all.length) },
        needle ? "No cluster has this text in its id or state." : q.ended != null ? "The query has ended." : "No cluster yet.")));
    }
    return {
      elements: [el("div", { class: "head" }, el("h3", {}, "Clusters"), find),
        el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Clusters" },
          el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body))],
      update
    };
  }

  const WORDS = { enters: "enters", leaves: "leaves", drains: "starts to drain", stops: "has a new end",
    unreachable: "is unreachable", reachable: "is reachable again", started: "The query has started", ended: "The query has ended" };

  function events(list, q) {
    const shownEvents = q.events.slice().reverse();
    const key = shownEvents.map(e => `${e.at}${e.what}${e.cluster}`).join();
    if (list.dataset.key === key) return;
    list.dataset.key = key;
    list.replaceChildren(...shownEvents.map(e => el("li", {},
      el("time", { datetime: new Date(e.at).toISOString() }, Draw.clock(e.at, (q.now - e.at) > 72e6 ? q.now - e.at : 0)),
      e.cluster ? el("span", { class: e.what === "unreachable" ? "state bad" : "" }, el("b", {}, e.cluster), ` ${WORDS[e.what] ?? e.what}`) : el("span", {}, WORDS[e.what] ?? e.what),
      ...(e.detail ? [el("small", {}, e.detail)] : []))));
  }

  addEventListener("hashchange", () => { draw(); byId("query").focus({ preventScroll: innerWidth > 768 }); });
  addEventListener("resize", draw);
  dark.addEventListener("change", draw);
  poll();
})();
