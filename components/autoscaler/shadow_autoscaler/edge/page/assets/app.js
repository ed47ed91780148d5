"use strict";
// Fetches the rendered middle of the page every few seconds; what a reader has opened or scrolled stays as it is.
const EVERY_MS = 3000;
const live = document.getElementById("live");
const freshness = document.getElementById("freshness");
let shown = live.innerHTML;
let failures = 0;

function widths() {
  // Styles come from here: the content security policy allows none in the markup.
  for (const part of live.querySelectorAll("[data-share]")) part.style.width = `${part.dataset.share}%`;
}

function replace(html) {
  if (html === shown) return;
  const open = new Set([...live.querySelectorAll("details[open]")].map((part) => part.dataset.key));
  const scrolled = [...live.querySelectorAll(".scroll")].map((part) => part.scrollLeft);
  live.innerHTML = shown = html;
  for (const part of live.querySelectorAll("details")) part.open = open.has(part.dataset.key);
  live.querySelectorAll(".scroll").forEach((part, index) => { part.scrollLeft = scrolled[index] ?? 0; });
  widths();
}

function tell(text, stale) {
  freshness.classList.toggle("stale", stale);
  const label = freshness.querySelector("span");
  if (label.textContent !== text) label.textContent = text;
}

async function refresh() {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), 10_000);
  try {
    const answer = await fetch("/live", { cache: "no-store", signal: stop.signal });
    if (answer.status === 401) return location.assign("/login");
    if (!answer.ok) throw new Error(String(answer.status));
    const selecting = !getSelection().isCollapsed;
    const html = await answer.text();
    if (!selecting) replace(html);
    failures = 0;
    tell("live", false);
  } catch {
    failures += 1;
    tell(failures > 1 ? "not connected, trying again" : "live", failures > 1);
  } finally {
    clearTimeout(timer);
  }
  setTimeout(refresh, document.hidden ? 5 * EVERY_MS : EVERY_MS);
}

widths();
document.addEventListener("visibilitychange", () => { if (!document.hidden && failures) location.reload(); });
setTimeout(refresh, EVERY_MS);
