// `/` focuses the search, which suggests players by the typed prefix. Ids and hashes in `code` elements get copy buttons, and times get tooltips with their age.
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  const search = document.getElementById("search");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey || !search) return;
  event.preventDefault();
  search.focus();
  search.select();
});

const searches = document.getElementById("searches");
if (searches?.dataset.from) {
  const field = document.getElementById("search");
  const recent = searches.innerHTML;
  let last;
  field.addEventListener("input", () => {
    clearTimeout(last);
    last = setTimeout(async () => {
      const asked = field.value.trim();
      const answer = asked && (await fetch(`${searches.dataset.from}?q=${encodeURIComponent(asked)}`).catch(() => null));
      if (asked === field.value.trim()) searches.innerHTML = (answer?.ok ? await answer.text() : "") + recent;
    }, 120);
  });
}

const age = (time) => {
  const seconds = Math.round((Date.now() - Date.parse(time)) / 1000);
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => Math.abs(seconds) >= size) ?? [1, "s"];
  const number = Math.floor(Math.abs(seconds) / size);
  return seconds < 0 ? `in ${number} ${unit}` : `${number} ${unit} ago`;
};
document.addEventListener("mouseover", (event) => {
  const time = event.target.closest?.("time[datetime]");
  if (time) time.title = `${age(time.dateTime)} · ${new Date(time.dateTime).toLocaleString()}`;
});

for (const code of navigator.clipboard ? document.querySelectorAll(".facts-list code, h1 code, .copy") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain copying";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy ${code.textContent.slice(0, 40)}`);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  });
  code.after(" ", button);
}

// A button changes all times between UTC and the browser's zone; the choice is kept in this browser.
const ZONE = "zone";
const shownTime = (time) => {
  if (localStorage.getItem(ZONE) !== "local") return time.dateTime;
  const minutes = -new Date(time.dateTime).getTimezoneOffset();
  const local = new Date(Date.parse(time.dateTime) + minutes * 60000).toISOString().slice(0, -1);
  const two = (number) => String(number).padStart(2, "0");
  return `${local}${minutes < 0 ? "-" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
};
const showTimes = () => {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const text = shownTime(time);
    if (time.textContent !== text) time.textContent = text;
  }
};
const who = document.querySelector(".who");
if (who) {
  const button = document.createElement("button");
  const label = () => (button.textContent = localStorage.getItem(ZONE) === "local" ? "Times: local" : "Times: UTC");
  button.type = "button";
  button.className = "plain";
  label();
  button.addEventListener("click", () => {
    localStorage.setItem(ZONE, localStorage.getItem(ZONE) === "local" ? "utc" : "local");
    label();
    showTimes();
  });
  who.prepend(button);
  showTimes();
  new MutationObserver(showTimes).observe(document.body, { childList: true, subtree: true });
}
