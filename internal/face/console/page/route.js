// The state of the page is in its address: each can be opened again, and sent to somebody.
import { signal, computed } from "@preact/signals";

const hash = signal(location.hash);
export const look = () => { hash.value = location.hash; };
addEventListener("hashchange", look);

// at is where the page is: the name of a page, and what is chosen on it.
export const at = computed(() => {
  const [page, query = ""] = hash.value.replace(/^#\/?/, "").split("?");
  return { page: page === "timeline" ? "activity" : page || "inbox", ...Object.fromEntries(new URLSearchParams(query)) };
});

// to is the address of a page; what is empty is left out.
export function to(page, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, v]) => v)).toString();
  return `#/${page}${query ? `?${query}` : ""}`;
}

// go changes what is chosen on this page. With replace the step before is not one to go back to.
export function go(change, replace = false) {
  const { page, ...params } = at.value;
  const next = to(page, { ...params, ...change });
  if (next === location.hash) return;
  if (!replace) { location.hash = next; return; }
  history.replaceState(null, "", next);
  look();
}

export const linkTo = (c) => to("call", { space: c.space, session: c.session, id: c.id });
