(() => {
  const hint = () => {
    for (const table of document.querySelectorAll(".scroll"))
      table.nextElementSibling.hidden = table.scrollWidth <= table.clientWidth;
  };
  hint();
  addEventListener("resize", hint);
  const box = document.getElementById("filter");
  if (!box) return;
  const items = [...document.querySelectorAll(".questions > li")];
  const [words, kind, all, count] = ["input", "select", "button", "output"].map((name) => box.querySelector(name));
  const show = () => {
    const wanted = words.value.toLowerCase();
    for (const item of items) {
      const fits = !kind.value || item.dataset.is.split(" ").includes(kind.value);
      item.hidden = !(fits && item.textContent.toLowerCase().includes(wanted));
    }
    count.textContent = `${items.filter((item) => !item.hidden).length} shown`;
  };
  box.hidden = false;
  words.addEventListener("input", show);
  kind.addEventListener("change", show);
  all.addEventListener("click", () => {
    for (const item of items) item.firstElementChild.open = !item.hidden;
  });
})();
