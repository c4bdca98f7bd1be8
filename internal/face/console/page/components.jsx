import { Icon, iconNames } from "./icons.jsx";
import { Badge, Command, Counts, Diff, Parameters, Problem, Risk } from "./parts.jsx";

const diff = "--- a/src/cart.js\n+++ b/src/cart.js\n@@ -1,3 +1,3 @@\n function total(cart) {\n-  return cart.items.reduce((sum, i) => sum + i.price, 0);\n+  return cart.items.reduce((sum, i) => sum + i.price * i.quantity, 0); // with \"quantity\"\n }\n";

// Components shows each part that pages are made of, in light and in dark.
export const Components = () => (
  <section class="page"><h1>Components</h1><p class="hint">Each part that the pages are made of, in light and in dark.</p>
    <div class="swatches">{["light", "dark"].map((scheme) => <div key={scheme} style={{ colorScheme: scheme }}><Parts scheme={scheme} /></div>)}</div></section>
);

const Parts = ({ scheme }) => (
  <>
    <h2>Buttons</h2>
    <div class="bar"><button class="primary">Primary <kbd>A</kbd></button><button>Button</button><button class="no">Refuse</button><button class="stop">Confirm</button><button class="quiet">Quiet</button></div>
    <div class="bar"><button disabled>Disabled</button><button class="primary" disabled aria-busy="true">Busy</button><button aria-pressed="true">Pressed</button><button class="small">Small</button></div>
    <h2>Badges and dots</h2>
    <div class="bar"><Badge>source</Badge><Badge kind="amber">waits 12 s</Badge><Badge kind="green">succeeded</Badge><Badge kind="blue">undone</Badge><Risk of="dangerous" /><Risk of="safe_write" /><Risk of="read_only" /></div>
    <div class="bar">{[["green", "allowed"], ["red", "failed"], ["amber", "waits"], ["blue", "runs"], ["", "rests"]].map(([k, w]) => <span><i class={`dot ${k}`} /> {w}</span>)}<Counts plus={4} minus={2} /></div>
    <h2>Fields</h2>
    <div class="bar"><label>Text <input placeholder="placeholder" /></label><label>Choice <select><option>one</option></select></label><label><input type="checkbox" /> Checked</label></div>
    <div class="bar"><span class="chip"><label>Tool <input placeholder="any" /></label></span><span class="chip on"><label>Status <input value="failed" /></label><button aria-label="Clear">×</button></span></div>
    <h2>Texts</h2>
    <Problem of={{ message: "the config cannot be read.", next: "Check line 3." }} />
    <section class="card"><h2>Command</h2><Command argv={["npm", "run", "deploy", "--stage", "'a b'"]} /></section>
    <section class="card"><h2>Change <Counts plus={1} minus={1} /></h2><Diff of={diff} label={`Example, ${scheme}`} /></section>
    <section class="card"><h2>Parameters</h2><Parameters of={[{ name: "path", value: "src/cart.js" }, { name: "limit", value: "120" }]} /></section>
    <h2>Icons</h2>
    <div class="bar">{iconNames.map((n) => <span title={n}><Icon name={n} /></span>)}</div>
  </>
);
