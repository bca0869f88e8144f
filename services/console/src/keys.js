// `/` focuses the search. Ids and hashes in `code` elements get copy buttons, and times get tooltips with their age.
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  const search = document.getElementById("search");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey || !search) return;
  event.preventDefault();
  search.focus();
  search.select();
});

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
