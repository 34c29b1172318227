"use strict";
// Looks at the JSON of the same export and shows what it says; a page without scripts reloads itself instead.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const end = Date.now() + data.patience * 1000;
  let turn = 0;

  function put(id, text, row) {
    const place = find(id);
    if (!place) return;
    if (place.textContent !== text) place.textContent = text;
    (row || place).hidden = text === "";
  }
  function fact(id, text) {
    const place = find(id);
    if (place) put(id, text, place.parentElement);
  }
  function duration(seconds) {
    const unit = seconds < 90 ? ["seconds", 1] : seconds < 5400 ? ["minutes", 60] : ["hours", 3600];
    return data.words[unit[0]].replace("{n}", Math.max(1, Math.round(seconds / unit[1])));
  }
  function number(position) {
    return position > 1000 ? data.words.more_than.replace("{n}", 1000) : String(position);
  }
  function moment(time) {
    return time.toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  }
  function say(state) {
    put("title", data.words[state].title);
    put("text", data.words[state].text.replace("{time}", moment(new Date())));
    document.title = document.title.replace(/^[^–]*/, data.words[state].title + " ");
    find("pressroom").className = state;
  }
  // What is true only while the page looks.
  function clear() {
    put("message", "");
    put("delay", "");
    for (const id of ["progress", "position", "expected", "again"]) {
      const place = find(id);
      if (place) (id === "progress" ? place : place.parentElement).hidden = true;
    }
  }
  function download(url) {
    say("ready");
    clear();
    const link = find("link");
    link.href = url;
    link.textContent = data.words.download;
    location.assign(url);
  }
  function show(answer, pause) {
    say(answer.state);
    // What became of an earlier request was said with the page, and stays while this one waits.
    if (answer.message || answer.state !== "queued") put("message", answer.message || "");
    const delay = (answer.delay && data.words.delays[answer.delay]) || "";
    put("delay", answer.not_before ? delay.replace("{time}", moment(new Date(answer.not_before))) : delay);
    const bar = find("bar");
    find("progress").hidden = answer.state !== "started";
    if (answer.percent === undefined) bar.removeAttribute("value");
    else bar.value = answer.percent;
    find("percent").textContent = answer.percent === undefined ? "" : answer.percent + " %";
    fact("position", answer.position ? number(answer.position) : "");
    fact("expected", answer.eta_seconds ? duration(answer.eta_seconds) : "");
    fact("again", pause ? duration(pause) : "");
  }
  function later() {
    const pause = data.pauses[Math.min(turn, data.pauses.length - 1)];
    turn += 1;
    if (Date.now() + pause * 1000 > end) {
      say("stopped");
      clear();
      return 0;
    }
    setTimeout(look, pause * 1000);
    return pause;
  }
  async function look() {
    try {
      const reply = await fetch(data.status_url, { headers: { Accept: "application/json" }, cache: "no-store" });
      const answer = await reply.json();
      if (answer.state === "ready") return download(answer.url);
      if (answer.state === "queued" || answer.state === "started") {
        const pause = later();
        return pause && show(answer, pause);
      }
      // Everything else is told by the page itself.
      if (reply.status !== 429 && reply.status !== 503) return location.replace(data.page_url);
    } catch (error) {
      // The network is away for a moment.
    }
    later();
  }
  if (data.state === "ready") location.assign(data.file_url);
  else later();
})();
