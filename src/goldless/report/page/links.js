// Links into the page: #voter=NAME, #item=NAME.
function follow() {
  const found = /^#(voter|item)=(.*)$/s.exec(location.hash);
  if (!found) return;
  let name;
  try { name = decodeURIComponent(found[2]); } catch { return; }
  if (found[1] === "voter") {
    const number = voters.find(name);
    if (number >= 0) voters.show(number);
    else say(`There is no voter ${name}`);
  } else if (items) {
    const item = items.find(name);
    if (item >= 0) items.showItem(item);
    else say(`The item ${name} is not in the table`);
  }
}
addEventListener("hashchange", follow);
// a link to what is behind a fold opens it
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (!link) return;
  if (link.hash === location.hash) follow();
  const target = link.hash.includes("=") ? null : byId(link.hash.slice(1));
  if (target && target.tagName === "DETAILS") target.open = true;
});
follow();
