/**
 * The console's one script, as browsers get it. What it shows comes from models, tools and users, so it makes text of it
 * and nothing else. Attributes mark what is live on a page:
 *
 * - `data-refresh="<ms>"`: the page's part with the same id replaces the element's contents if its `data-mark` differs, again
 *   and again; `data-say` is what a screen reader then says;
 * - `data-events="<path>"`: the element shows the events of a run, and the page is loaded anew after the last one;
 * - `data-copy="<id>"`: a button that copies the text of another element;
 * - `data-filter="<id>"`: a field that hides the items of a list which lack its words; `<id>-number` shows how many are left.
 *
 * It keeps relative times up to date and the last 500 events on the page. After a lost connection the script continues
 * after the last event that it showed.
 */
(() => {
  /**
   * @param {string} tag
   * @param {string} [cls]
   * @param {string} [text]
   */
  const $ = (tag, cls, text) => {
    const element = document.createElement(tag);
    if (cls) element.className = cls;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  /** @param {string} text long, so it scrolls: the keyboard reaches it */
  const block = (text) => {
    const pre = $("pre", "", text);
    pre.tabIndex = 0;
    return pre;
  };
  /**
   * The same JSON as the server's: `pretty` of text.ts.
   * @param {unknown} value
   */
  const json = (value) =>
    (JSON.stringify(value, null, 2) ?? "").replace(
      /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu,
      (hidden) =>
        hidden
          .split("")
          .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
          .join(""),
    );
  /** @param {string} text */
  const say = (text) => {
    const live = document.getElementById("said");
    if (live) live.textContent = text;
  };
  /**
   * @template {Element} E
   * @param {string} selector
   * @param {new () => E} type
   * @param {ParentNode} [within]
   */
  const each = (selector, type, within = document) =>
    [...within.querySelectorAll(selector)].flatMap((found) => (found instanceof type ? [found] : []));

  /** @param {HTMLElement} box */
  const typed = (box) =>
    each("input", HTMLInputElement, box).some((field) => field.value !== field.defaultValue) ||
    each("textarea", HTMLTextAreaElement, box).some((field) => field.value !== field.defaultValue);
  /**
   * Whether somebody has opened or typed something in there, which must stay.
   * @param {HTMLElement} box
   */
  const busy = (box) => {
    const at = document.activeElement;
    const typing = at !== null && box.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
    return typing || typed(box) || box.querySelector("details[open]") !== null;
  };
  /**
   * Says whether the server answers.
   * @param {HTMLElement} box
   * @param {boolean} lost
   */
  const connection = (box, lost) => {
    if (lost === box.classList.contains("lost")) return;
    box.classList.toggle("lost", lost);
    say(lost ? "The connection is lost. The page tries again." : "The connection is back.");
  };
  /**
   * Shows the contents of another element in place of a part's own, and says what is new.
   * @param {HTMLElement} box
   * @param {HTMLElement} next
   */
  const replace = (box, next) => {
    const { mark = "", say: news = "" } = next.dataset;
    const at = document.activeElement;
    const had = at !== null && box.contains(at) ? at : null;
    box.replaceChildren(...document.adoptNode(next).childNodes);
    box.dataset.mark = mark;
    if (had !== null) {
      const link = CSS.escape(had.getAttribute("href") ?? "");
      const [same] = each(had.id ? `#${CSS.escape(had.id)}` : `[href="${link}"]`, HTMLElement, box);
      // If what had the focus is gone, the keyboard continues in the content and not at the top of the page.
      (same ?? document.getElementById("main"))?.focus({ preventScroll: true });
    }
    if (news && news !== box.dataset.say) say(news);
    box.dataset.say = news;
  };
  /**
   * Replaces the contents of these parts by those of the page as it is now. Returns the parts that can still change.
   * @param {HTMLElement[]} boxes
   */
  const renew = async (boxes) => {
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "error" });
    if (!answer.ok) throw answer.status;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const badge = page.getElementById("waiting");
    const mine = document.getElementById("waiting");
    if (badge && mine) mine.textContent = badge.textContent;
    return boxes.filter((box) => {
      const next = page.getElementById(box.id);
      if (!next || busy(box)) return true;
      const { refresh, mark } = next.dataset;
      if (mark !== box.dataset.mark) replace(box, next);
      return refresh !== undefined;
    });
  };
  /** Says once, where the page begins, that the sign-in has ended, so that a typed text can be copied first. */
  const signedOut = () => {
    const text = "Your sign-in has ended. Copy what you have typed, then load the page again to sign in.";
    const link = $("a", "", text);
    link.setAttribute("href", "");
    const note = $("p", "note bad");
    note.append(link);
    document.getElementById("main")?.prepend(note);
    say(text);
  };
  /** @param {HTMLElement[]} all */
  const refresh = (all) => {
    let boxes = all;
    const [first] = boxes;
    if (first === undefined) return;
    const every = Math.min(...boxes.map(({ dataset }) => Number(dataset.refresh)));
    let wait = every;
    const turn = async () => {
      try {
        if (!document.hidden) boxes = await renew(boxes);
        if (boxes.length === 0) return;
        connection(first, false);
        wait = every;
      } catch (status) {
        // The sign-in has ended: the page becomes its form, unless somebody has typed something.
        if (status === 401) return typed(document.body) ? signedOut() : location.reload();
        connection(first, true);
        wait = Math.min(wait * 2, 15000);
      }
      setTimeout(turn, wait);
    };
    setTimeout(turn, wait);
  };

  /** @param {HTMLElement} box */
  const follow = (box) => {
    let last = 0;
    let wait = 500;
    /** @type {HTMLElement | null} */
    let answer = null;
    /** @type {HTMLElement | null} */
    let thought = null;
    /** @param {HTMLElement} item */
    const put = (item) => {
      box.append(item);
      if (box.childElementCount > 500) box.firstElementChild?.remove();
    };
    /**
     * The members of events that the script reads; each event has some of them.
     * @typedef {{ text?: string, round: number, restarted?: boolean, name: string, arguments: unknown, ok: boolean,
     *   duration_ms: number, code?: string, tool: string, reason: string, title: string, detail: string, type: string,
     *   version: number, server: string, error: string, content: string, node_id: string, status: string, task: string,
     *   parent_run_id?: string | null }} Data
     */
    /** @param {Data} data */
    const text = (data) => data.text ?? "[bytes]";
    /**
     * @param {string} title
     * @param {string} body
     * @param {string} cls
     */
    const line = (title, body, cls) => {
      answer = thought = null;
      const item = $("li", cls);
      item.append($("strong", "", title));
      if (body) {
        const more = $("details");
        more.append($("summary", "", "Details"), block(body));
        item.append(more);
      }
      put(item);
    };
    /**
     * By event: puts its data on the page; `null`: the page does not show it.
     * @type {Record<Exclude<keyof import("../../typed/client/api.d.ts").EventData, "done">, ((data: Data) => void) | null>}
     */
    const show = {
      start: null,
      delta(data) {
        // A sub-agent's text is for the run above it.
        if (data.parent_run_id !== undefined) return;
        if (!answer) {
          const item = $("li", "say assistant");
          answer = $("div", "out");
          answer.dir = "auto";
          item.append(answer);
          put(item);
          thought = null;
        }
        answer.textContent += text(data);
      },
      thought(data) {
        if (data.parent_run_id !== undefined) return;
        if (!thought) {
          const item = $("li", "dim");
          const more = $("details");
          thought = block("");
          more.append($("summary", "", "Thoughts"), thought);
          item.append(more);
          put(item);
          answer = null;
        }
        thought.textContent += text(data);
      },
      stderr: (data) => line("stderr", text(data), "dim"),
      round(data) {
        if (data.parent_run_id !== undefined) return;
        if (data.restarted)
          line(`The model is asked again: what stood here of round ${data.round} is void.`, "", "wait");
        else answer = thought = null;
      },
      tool_call: (data) => line(`Calls ${data.name}`, json(data.arguments), "say tool"),
      tool_output: (data) => line("Output", text(data), "dim"),
      tool_result(data) {
        const code = data.code ? ` (${data.code})` : "";
        const title = `${data.ok ? "Done" : "Failed"}: ${data.name}, ${Math.round(data.duration_ms)} ms${code}`;
        line(title, "", data.ok ? "good" : "bad");
      },
      approval_request: (data) => line(`Waits for approval of ${data.tool}`, json(data.arguments), "wait"),
      artifact: (data) => line(`Made ${data.title}`, `${data.type}, version ${data.version}`, ""),
      skill_matched: null,
      skill_activated: (data) => line(`Uses the skill ${data.name}`, data.reason, "dim"),
      skill_deactivated: null,
      skill_scope_tools: null,
      skill_mcp_bound: null,
      skill_mcp_unbound: null,
      skill_mcp_bind_failed: (data) => line(`No connection to ${data.server}`, data.error, "bad"),
      tool_search_query: null,
      tool_search_result: null,
      feedback_injected: (data) => line("Feedback for the model", data.content, "dim"),
      stage: (data) =>
        line(`Stage ${data.node_id}: ${data.status}`, "", data.status === "failed" ? "bad" : ""),
      response_part: null,
      sub_agent_start: (data) => line(`Sub-agent ${data.name} begins`, data.task, ""),
      sub_agent_result: (data) =>
        line(`Sub-agent ${data.name}: ${data.status}`, "", data.ok ? "good" : "bad"),
      task_update: (data) => line(`Task ${data.name}: ${data.status}`, "", "dim"),
      daemon_wake: (data) => line(`Woken: ${data.reason}`, "", ""),
      transcript_compacted: () => line("Older messages were summarised.", "", "dim"),
      error: (data) => line(`${data.title}: ${data.detail}`, "", "bad"),
    };
    /** The run has ended or rests: the page loads again, unless somebody has typed something. */
    const ended = () => {
      say("The run has ended or rests.");
      if (!typed(document.body)) {
        setTimeout(() => location.reload(), 300);
        return;
      }
      const link = $("a", "", "The run has ended or rests. Load the page again to see more.");
      link.setAttribute("href", "");
      const item = $("li");
      item.append(link);
      put(item);
    };
    const open = () => {
      const path = box.dataset.events ?? "";
      const source = new EventSource(`${path}${path.includes("?") ? "&" : "?"}after=${last}`);
      source.onopen = () => connection(box, false);
      /** @param {((data: Data) => void) | null} shown `null`: the run has ended or rests */
      const take = (shown) => (/** @type {Event} */ event) => {
        // Without data it is the connection's own `error`.
        if (!(event instanceof MessageEvent)) return;
        const number = Number(event.lastEventId.split(":").pop());
        if (number) {
          if (number <= last) return;
          last = number;
        }
        wait = 500;
        let data;
        try {
          data = JSON.parse(event.data);
        } catch {
          return;
        }
        if (shown !== null) return shown(data);
        source.close();
        ended();
      };
      for (const [name, shown] of Object.entries(show))
        if (shown !== null) source.addEventListener(name, take(shown));
      source.addEventListener("done", take(null));
      source.onerror = (event) => {
        if (event instanceof MessageEvent) return;
        source.close();
        connection(box, true);
        setTimeout(open, wait);
        wait = Math.min(wait * 2, 8000);
      };
    };
    open();
  };

  // The clock of this machine may differ from the server's.
  const behind = Number(document.body.dataset.now) - Date.now();
  /** The same text as the server's: `when` of text.ts. */
  const passed = () => {
    for (const at of each("time", HTMLTimeElement)) {
      const seconds = Math.trunc((Date.now() + behind - Date.parse(at.dateTime)) / 1000);
      const size = Math.abs(seconds);
      /** @type {[number, string][]} */
      const units = [
        [86400, "d"],
        [3600, "h"],
        [60, "min"],
      ];
      const [unit, name] = units.find(([long]) => size >= long) ?? [1, "s"];
      const count = `${Math.floor(size / unit)} ${name}`;
      const text = seconds >= 0 ? `${count} ago` : `in ${count}`;
      if (at.textContent !== text) at.textContent = text;
    }
  };
  setInterval(passed, 5000);
  refresh(each("[data-refresh]", HTMLElement));
  for (const box of each("[data-events]", HTMLElement)) follow(box);
  document.addEventListener("click", async ({ target }) => {
    const button = target instanceof Element ? target.closest("[data-copy]") : null;
    const from = document.getElementById(button?.getAttribute("data-copy") ?? "");
    if (button === null || from === null) return;
    try {
      await navigator.clipboard.writeText(from.textContent);
      button.textContent = "Copied";
      say("Copied.");
    } catch {
      getSelection()?.selectAllChildren(from);
      say("Selected: copy it with the keyboard.");
    }
  });
  for (const field of each("[data-filter]", HTMLInputElement)) {
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const list = document.getElementById(field.dataset.filter ?? "");
      let left = 0;
      for (const item of list?.children ?? []) {
        const text = item.textContent.toLowerCase();
        const fits = words.every((word) => text.includes(word));
        item.toggleAttribute("hidden", !fits);
        left += Number(fits);
      }
      const number = document.getElementById(`${list?.id}-number`);
      if (number) number.textContent = String(left);
    });
  }
  for (const form of each("form[data-once]", HTMLFormElement))
    form.addEventListener("submit", () => {
      // Later, since a button that is off is not sent.
      const off = () => {
        for (const button of each("button", HTMLButtonElement, form)) button.disabled = true;
      };
      setTimeout(off, 0);
    });
})();
