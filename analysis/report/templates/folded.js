// Unpacks what a folded part of the page holds compressed, when it is opened for the first time.
for (const folded of document.querySelectorAll("details:has(> .scroll > script[type='application/gzip'])")) {
  const content = folded.querySelector("script");
  folded.addEventListener("toggle", async () => {
    content.parentElement.innerHTML = await unpacked(content.textContent);
    folded.dataset.unpacked = "";
  }, { once: true });
}
