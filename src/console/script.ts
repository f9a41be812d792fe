/**
 * The console's one script, as browsers get it. What it shows comes from models, tools and users, so it makes text of it
 * and nothing else. Attributes mark what is live on a page:
 *
 * - `data-refresh="<ms>"`: the page's part with the same id replaces the element, again and again;
 * - `data-events="<path>"`: the element shows the events of a run, and the page is loaded anew after the last one;
 * - `data-copy="<id>"`: a button that copies the text of another element;
 * - `data-filter="<id>"`: a field that hides the items of a list which lack its words.
 *
 * The last 500 events stay. After a lost connection the script goes on after the last event that it showed.
 */
export const SCRIPT = `"use strict";(() => {
const $ = (tag, cls, text) => { const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e; };
const say = (text) => { const live = document.getElementById("said"); if (live) live.textContent = text; };
const busy = (box) => { const at = document.activeElement; return at && box.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || box.querySelector("details[open]"); };
const refresh = (box) => {
  const every = Number(box.dataset.refresh);
  let wait = every;
  const turn = async () => {
    try {
      if (!document.hidden && !busy(box)) {
        const answer = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "error" });
        if (!answer.ok) throw answer.status;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const next = page.getElementById(box.id);
        if (next && !busy(box)) {
          if (next.dataset.mark !== box.dataset.mark) {
            const focus = document.activeElement && box.contains(document.activeElement) ? document.activeElement.id : "";
            box.replaceChildren(...document.adoptNode(next).childNodes);
            box.dataset.mark = next.dataset.mark || "";
            if (focus) document.getElementById(focus)?.focus();
            if (next.dataset.say) say(next.dataset.say);
          }
          if (next.dataset.refresh === undefined) return;
        }
        const badge = page.getElementById("waiting");
        const mine = document.getElementById("waiting");
        if (badge && mine) mine.textContent = badge.textContent;
      }
      wait = every;
    } catch { wait = Math.min(wait * 2, 15000); }
    setTimeout(turn, wait);
  };
  setTimeout(turn, wait);
};
const follow = (box) => {
  let last = 0, source, wait = 500, answer = null, thought = null;
  const put = (item) => { box.append(item); if (box.childElementCount > 500) box.firstElementChild.remove(); };
  const text = (data) => data.text !== undefined ? data.text : "[bytes]";
  const line = (title, body, cls) => {
    answer = thought = null;
    const item = $("li", cls);
    item.append($("strong", "", title));
    if (body) { const more = $("details"); more.append($("summary", "", "Details"), $("pre", "", body)); more.lastChild.tabIndex = 0; item.append(more); }
    put(item);
  };
  const show = {
    delta(data) { if (!answer) { const item = $("li", "say assistant"); answer = $("div", "out"); item.append(answer); put(item); thought = null; } answer.textContent += text(data); },
    thought(data) { if (!thought) { const item = $("li", "dim"); const more = $("details"); thought = $("pre"); thought.tabIndex = 0; more.append($("summary", "", "Thoughts"), thought); item.append(more); put(item); answer = null; } thought.textContent += text(data); },
    stderr(data) { line("stderr", text(data), "dim"); },
    round(data) { if (data.restarted) { line("The model is asked again: what stood here of round " + data.round + " is void.", "", "wait"); } else { answer = thought = null; } },
    tool_call(data) { line("Calls " + data.name, JSON.stringify(data.arguments, null, 2), "say tool"); },
    tool_output(data) { line("Output", text(data), "dim"); },
    tool_result(data) { line((data.ok ? "Done: " : "Failed: ") + data.name + ", " + Math.round(data.duration_ms) + " ms" + (data.code ? " (" + data.code + ")" : ""), "", data.ok ? "good" : "bad"); },
    approval_request(data) { line("Waits for approval of " + data.tool, JSON.stringify(data.arguments, null, 2), "wait"); },
    daemon_wake(data) { line("Woken: " + data.reason, "", ""); },
    transcript_compacted() { line("Older messages were summarised.", "", "dim"); },
    error(data) { line(data.title + ": " + data.detail, "", "bad"); },
  };
  const open = () => {
    const path = box.dataset.events;
    source = new EventSource(path + (path.includes("?") ? "&" : "?") + "after=" + last);
    const take = (name) => (event) => {
      if (event.data === undefined) return;
      const number = Number((event.lastEventId || "").split(":").pop());
      if (number) { if (number <= last) return; last = number; }
      wait = 500;
      let data; try { data = JSON.parse(event.data); } catch { return; }
      if (name === "done") { source.close(); say("The run has ended or rests."); setTimeout(() => location.reload(), 300); return; }
      if (show[name]) show[name](data);
    };
    for (const name of [...Object.keys(show), "done"]) source.addEventListener(name, take(name));
    source.onerror = (event) => {
      if (event.data !== undefined) return;
      source.close();
      setTimeout(open, wait);
      wait = Math.min(wait * 2, 8000);
    };
  };
  open();
};
for (const box of document.querySelectorAll("[data-refresh]")) refresh(box);
for (const box of document.querySelectorAll("[data-events]")) follow(box);
document.addEventListener("click", async (event) => {
  const button = event.target.closest && event.target.closest("[data-copy]");
  if (!button) return;
  const from = document.getElementById(button.dataset.copy);
  try { await navigator.clipboard.writeText(from.textContent); say("Copied."); } catch { getSelection().selectAllChildren(from); say("Selected: copy it with the keyboard."); }
});
for (const field of document.querySelectorAll("[data-filter]")) {
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const item of document.getElementById(field.dataset.filter).children) {
      const text = item.textContent.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
    }
  });
}
for (const form of document.querySelectorAll("form[data-once]")) form.addEventListener("submit", () => { for (const b of form.querySelectorAll("button")) setTimeout(() => { b.disabled = true; }, 0); });
})();`;
