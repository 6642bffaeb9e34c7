/**
 * What the views share: a list beside what was opened in it, notices, times and durations.
 */

import { h, replace } from "./dom.js";

/** Lay out a list and, beside it or on a small screen in its place, what was opened. */
export function makeSplit(main, title, side, backTo) {
  const detail = h("section", { class: "detail", "aria-label": `${title}: opened` });
  const list = h("section", { class: "side", "aria-label": title }, h("h2", {}, title), side);
  const split = h("div", { class: "split" }, list, detail);
  main.append(split);
  return {
    detail,
    /** Show the content beside the list; without any, the list has the whole small screen. */
    open(...content) {
      split.classList.toggle("opened", content.length > 0);
      const back = h("a", { class: "back", href: `#/${backTo}` }, "Back to the list");
      replace(detail, content.length ? [back, content] : h("p", { class: "muted empty" }, "Open one of the list."));
      detail.scrollTop = 0;
    },
  };
}

/** Return a sentence that stands out, and that a screen reader says. */
export function notice(text, kind = "") {
  return h("p", { class: `notice ${kind}`, role: kind === "bad" ? "alert" : "status" }, text);
}

/** Run what may fail; a failure becomes a notice in the box. */
export async function attempt(box, work) {
  try {
    return await work();
  } catch (problem) {
    replace(box, notice(problem.message, "bad"));
    return undefined;
  }
}

const newest = new WeakMap();

/** Read what a box will show, as `attempt` does; undefined also if a newer reading for this box has begun. */
export async function readLatest(box, work) {
  const mine = (newest.get(box) ?? 0) + 1;
  newest.set(box, mine);
  const [answer, problem] = await work().then((answer) => [answer], (problem) => [undefined, problem]);
  if (newest.get(box) !== mine) return undefined;
  if (problem) replace(box, notice(problem.message, "bad"));
  return answer;
}

/** Let nothing that is being read for a box be shown in it: the question has changed. */
export function dropReadings(box) {
  newest.set(box, (newest.get(box) ?? 0) + 1);
}

/** Return a function that does *work*, never twice at once: who asks meanwhile waits for one that begins afterwards. */
export function makeSerial(work) {
  let current = null;
  let following = null;
  const run = () => (current = work().finally(() => { current = null; }));
  return () => (current === null ? run() : following ??= current.then(() => { following = null; return run(); }));
}

/** Return a time as people read it: today only the hour. */
export function clock(seconds) {
  if (seconds === null || seconds === undefined) return "unknown";
  const time = new Date(seconds * 1000);
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? time.toLocaleTimeString("en-GB") : time.toLocaleString("en-GB");
}

/** Return a duration in a unit that suits it; nothing if it is not known. */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${Number((seconds * 1000).toPrecision(3))} ms`;
  return seconds < 120 ? `${seconds.toFixed(seconds < 10 ? 2 : 1)} s` : `${(seconds / 60).toFixed(1)} min`;
}
