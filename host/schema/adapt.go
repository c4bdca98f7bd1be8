package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/text/excerpt"
)

// Loss is a keyword that a schema goes without, because it could not be
// understood.
type Loss struct {
	// Place is the JSON pointer of the schema that had it, such as "#/properties/mail".
	Place string
	// Keyword is empty where the whole schema at that place was none.
	Keyword string
	Why     string
	// Valid is true where JSON Schema allows what stood there.
	Valid bool
}

// String says all of it.
func (l Loss) String() string {
	if l.Keyword == "" {
		return l.Place + " " + l.Why
	}
	return fmt.Sprintf("%s at %s %s", l.Keyword, l.Place, l.Why)
}

// Mistake is the first loss of what no draft of JSON Schema allows, nil for none:
// who writes a schema wants to hear of it before it is used.
func Mistake(losses []Loss) error {
	for _, l := range losses {
		if !l.Valid {
			return errors.New(l.String())
		}
	}
	return nil
}

// protected is the schema of parameters of which nothing is known, not even
// which are secret.
const protected = `{"type":"object","properties":{},"writeOnly":true}`

// Unseen stands for the schema of parameters that cannot be shown. It may have
// marked some as secret, so all are.
const Unseen = `{"type":"object","properties":{},"writeOnly":true,` +
	`"$comment":"The tool's own schema is too long, or holds characters that cannot be seen."}`

// mostLosses is how many losses are named.
const mostLosses = 5

// Told gives losses as one text.
func Told(losses []Loss) string {
	var texts []string
	for _, loss := range losses[:min(len(losses), mostLosses)] {
		texts = append(texts, loss.String())
	}
	if more := len(losses) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// Parameters is Adapt for the parameters of a tool, which are always an object:
// the root gets this type where it has none.
func Parameters(raw json.RawMessage) (json.RawMessage, []Loss) {
	value, ok := parseTree(raw)
	if ok && (value == nil || value == true) || len(raw) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	root, ok := value.(*object)
	if !ok {
		return json.RawMessage(protected), []Loss{{Place: "#", Why: "is no schema of an object"}}
	}
	if string(raw) == Unseen {
		return raw, []Loss{{Place: "#", Why: "is too long, or holds characters that cannot be seen"}}
	}
	a := newAdapter(root)
	if kind, given := root.get("type"); kind != "object" {
		kinds, _ := kind.([]any)
		if given && kind != nil && !slices.Contains(kinds, any("object")) {
			a.lose("", "type", "is not the type of an object, which parameters are", false)
		}
		a.protect(root, kind)
		root.remove("type")
		root.members = slices.Insert(root.members, 0, member{"type", "object"})
		a.changed = true
	}
	return a.adapt(raw)
}

// Adapt gives a schema of any draft as one of 2020-12 that Compile takes. Older
// spellings are replaced by what they mean. A keyword that cannot be understood
// is left out alone, at its place, and told; where a mark of writeOnly stood
// below it, what it was of is marked. A schema that needs nothing of this comes
// back as it is, byte for byte.
func Adapt(raw json.RawMessage) (json.RawMessage, []Loss) {
	value, _ := parseTree(raw)
	root, ok := value.(*object)
	if !ok {
		return raw, nil
	}
	return newAdapter(root).adapt(raw)
}

// adapter changes a schema in place.
type adapter struct {
	root      *object
	targets   map[*object]any     // where references lead to, as the schema was written
	places    map[*object]string  // JSON pointers of schemas, as they are now
	copies    map[*object]*object // of schemas that stood where no keyword holds any
	referring []*object           // schemas with a $ref
	secrets   bool                // there is a writeOnly
	judging   bool                // each keyword is tried alone
	known     bool                // all others are left out
	changed   bool
	losses    []Loss
}

func newAdapter(root *object) *adapter {
	a := &adapter{root: root, targets: make(map[*object]any), copies: make(map[*object]*object)}
	refs := newReferences(root)
	for o := range refs.within {
		for _, key := range []string{"$ref", "$recursiveRef"} {
			value, _ := o.get(key)
			if ref, ok := value.(string); ok {
				if target, found := refs.target(o, ref); found {
					a.targets[o] = target
				}
			}
		}
		a.secrets = a.secrets || marked(o)
	}
	return a
}

// marked reports whether a schema itself is writeOnly. What is not false counts.
func marked(o *object) bool {
	return slices.ContainsFunc(o.members, func(m member) bool {
		_, isSchema := m.value.(*object) // of a property of that name
		return strings.EqualFold(m.key, "writeOnly") && m.value != false && !isSchema
	})
}

func (a *adapter) adapt(raw json.RawMessage) (json.RawMessage, []Loss) {
	for _, mode := range []struct{ judging, known bool }{{}, {true, false}, {true, true}} {
		a.judging, a.known = mode.judging, mode.known
		a.places, a.referring = make(map[*object]string), nil
		a.schema(a.root, "")
		a.refer()
		if a.judging {
			a.end()
		}
		draft, _ := a.root.get("$schema")
		if _, isText := draft.(string); isText && a.changed {
			a.root.set("$schema", "https://json-schema.org/draft/2020-12/schema")
		}
		if a.changed {
			raw = mustMarshal(a.root)
		}
		if _, err := Compile(raw); err == nil {
			return raw, a.losses
		}
	}
	return json.RawMessage(protected), append(a.losses, Loss{Place: "#", Why: "cannot be read"})
}

func (a *adapter) lose(at, keyword, why string, valid bool) {
	a.changed = true
	a.losses = append(a.losses, Loss{"#" + at, keyword, why, valid})
}

// drop leaves a keyword out. What it may have protected is protected as a whole.
func (a *adapter) drop(o *object, at, keyword, why string, valid bool) {
	value, _ := o.get(keyword)
	o.remove(keyword)
	a.lose(at, keyword, why, valid)
	a.protect(o, value)
}

// protect marks what goes without a value that may have held a mark.
func (a *adapter) protect(o *object, without any) {
	if a.secrets && a.hides(without) {
		o.set("writeOnly", true)
	}
}

// hides reports whether there may be a writeOnly below.
func (a *adapter) hides(value any) bool {
	switch value := value.(type) {
	case []any:
		return slices.ContainsFunc(value, a.hides)
	case *object:
		return marked(value) || value.index("$ref") >= 0 ||
			slices.ContainsFunc(value.members, func(m member) bool { return a.hides(m.value) })
	}
	return false
}

// How keywords hold schemas.
const (
	oneSchema = iota + 1
	listOfSchemas
	namedSchemas
)

var holders = map[string]int{
	"additionalProperties": oneSchema, "items": oneSchema, "not": oneSchema, "if": oneSchema, "then": oneSchema,
	"else": oneSchema, "contains": oneSchema, "propertyNames": oneSchema, "unevaluatedProperties": oneSchema,
	"unevaluatedItems": oneSchema, "contentSchema": oneSchema,
	"allOf": listOfSchemas, "anyOf": listOfSchemas, "oneOf": listOfSchemas, "prefixItems": listOfSchemas,
	"properties": namedSchemas, "patternProperties": namedSchemas, "$defs": namedSchemas,
	"definitions": namedSchemas, "dependentSchemas": namedSchemas,
}

// schema adapts one schema, which stands at a JSON pointer.
func (a *adapter) schema(value any, at string) any {
	if _, isBool := value.(bool); isBool {
		return value
	}
	o, ok := value.(*object)
	if !ok {
		a.lose(at, "", "is no schema, so anything is taken there", false)
		o = new(object)
		a.protect(o, value)
		return o
	}
	a.places[o] = at
	a.names(o, at)
	a.spelling(o, at)
	for _, m := range slices.Clone(o.members) {
		if a.known && !known[m.key] {
			a.drop(o, at, m.key, "cannot be read beside the rest", false)
		} else {
			a.inner(o, m, at)
		}
	}
	if a.judging {
		for _, m := range slices.Clone(o.members) {
			a.judge(o, m, at)
		}
	}
	if slices.ContainsFunc(refKeywords, func(key string) bool { return o.index(key) >= 0 }) {
		a.referring = append(a.referring, o)
	}
	if ref, given := o.get("$ref"); given {
		if a.targets[o] == nil {
			text, _ := ref.(string)
			a.drop(o, at, "$ref", "leads nowhere within the schema: "+excerpt.Shorten(text, 80),
				text != "" && text[0] != '#')
		}
	}
	return o
}

// inner adapts the schemas that a keyword holds.
func (a *adapter) inner(o *object, m member, at string) {
	at, here := at+"/"+escape(m.key), at
	switch holders[m.key] {
	case oneSchema:
		o.set(m.key, a.schema(m.value, at))
	case listOfSchemas:
		schemas, ok := m.value.([]any)
		if !ok {
			a.drop(o, here, m.key, "is no list of schemas", false)
		}
		for i := range schemas {
			schemas[i] = a.schema(schemas[i], at+"/"+strconv.Itoa(i))
		}
	case namedSchemas:
		schemas, ok := m.value.(*object)
		if !ok {
			a.drop(o, here, m.key, "is no object of schemas", false)
			return
		}
		for i := range schemas.members {
			name := &schemas.members[i]
			name.value = a.schema(name.value, at+"/"+escape(name.key))
		}
	}
}

// counts are the keywords whose value is a number of things.
var counts = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
	"minContains", "maxContains"}

// vocabulary are the keywords of 2020-12, and what older drafts say otherwise.
var vocabulary = func() map[string]bool {
	all := maps.Clone(known)
	for _, k := range slices.Concat(counts, slices.Collect(maps.Keys(holders)), []string{"multipleOf", "dependentRequired",
		"dependencies", "additionalItems", "$anchor", "$dynamicAnchor", "$dynamicRef", "$vocabulary", "contentEncoding",
		"contentMediaType"}) {
		all[k] = true
	}
	return all
}()

// keyword is the keyword that readers who do not look at the case take a name for.
func keyword(name string) string {
	if vocabulary[name] {
		return name
	}
	for k := range vocabulary {
		if strings.EqualFold(k, name) {
			return k
		}
	}
	return ""
}

// names leaves out what is a keyword but for its case, which encoding/json would
// read as the keyword, and keywords that are null.
func (a *adapter) names(o *object, at string) {
	for _, m := range slices.Clone(o.members) {
		k := keyword(m.key)
		switch {
		case k == "":
		case k == "writeOnly":
			if m.key != k || m.value != true && m.value != false {
				o.remove(m.key)
				o.set(k, m.value != false)
				a.changed = true
			}
		case m.key != k:
			a.drop(o, at, m.key, "is no keyword; JSON Schema has "+k, true)
		case m.value == nil && !dataKeywords[k]:
			a.drop(o, at, k, "is null", true)
		}
	}
}

// spelling replaces what older drafts write otherwise.
func (a *adapter) spelling(o *object, at string) {
	for limit, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		flag, _ := o.get(exclusive)
		strict, isBool := flag.(bool)
		bound, _ := o.get(limit)
		if number, ok := bound.(json.Number); isBool && (ok || !strict) {
			o.remove(exclusive)
			if strict {
				o.rename(limit, exclusive, number)
			}
			a.changed = true
		}
	}
	if items, _ := o.get("items"); items != nil {
		if schemas, isList := items.([]any); isList && o.index("prefixItems") < 0 {
			o.rename("items", "prefixItems", schemas)
			if rest, given := o.get("additionalItems"); given {
				o.rename("additionalItems", "items", rest)
			}
			if len(schemas) == 0 {
				o.remove("prefixItems")
			}
			a.changed = true
		} else if isList {
			a.drop(o, at, "items", "is a list beside prefixItems", false)
		}
	}
	a.dependencies(o)
	a.definitions(o)
	for _, key := range counts {
		value, _ := o.get(key)
		number, _ := value.(json.Number)
		if f, ok := parseNumber(string(number)); ok && f.IsInt() && f.Sign() >= 0 {
			if a.judging && f.Cmp(big.NewFloat(math.MaxInt32)) > 0 {
				f = big.NewFloat(math.MaxInt32) // nothing has as many
			}
			if text := f.Text('f', 0); text != string(number) {
				o.set(key, json.Number(text))
				a.changed = true
			}
		}
	}
	a.types(o)
	if ref, _ := o.get("$recursiveRef"); ref == "#" && o.index("$ref") < 0 {
		o.rename("$recursiveRef", "$ref", ref)
		a.changed = true
	}
	id, _ := o.get("$id")
	if _, isText := id.(string); at != "" && isText { // references no longer need it
		o.remove("$id")
		a.changed = true
	}
}

// types writes the types that are none, or twice in a list, as 2020-12 does.
func (a *adapter) types(o *object) {
	value, _ := o.get("type")
	names, _ := value.([]any)
	if value == "any" || slices.Contains(names, any("any")) { // of draft 3
		o.remove("type")
		a.changed = true
		return
	}
	var once []any
	for _, name := range names {
		if _, isText := name.(string); !isText || !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	if len(once) < len(names) {
		o.set("type", once)
		a.changed = true
	}
}

// dependencies become the two keywords that they were divided into.
func (a *adapter) dependencies(o *object) {
	value, _ := o.get("dependencies")
	all, ok := value.(*object)
	if !ok {
		return
	}
	o.remove("dependencies")
	a.changed = true
	for _, m := range all.members {
		key := "dependentSchemas"
		if _, isList := m.value.([]any); isList {
			key = "dependentRequired"
		}
		sorted, ok := o.get(key)
		into, isObject := sorted.(*object)
		if ok && !isObject {
			a.protect(o, m.value)
			continue
		} else if !ok {
			into = new(object)
			o.set(key, into)
		}
		into.set(m.key, m.value)
	}
}

// definitions beside $defs are put there: the library takes one of them.
func (a *adapter) definitions(o *object) {
	old, _ := o.get("definitions")
	now, _ := o.get("$defs")
	from, ok := old.(*object)
	into, both := now.(*object)
	if !ok || !both {
		return
	}
	o.remove("definitions")
	a.changed = true
	for _, m := range from.members {
		into.set(free(into, m.key), m.value)
	}
}

// free is a key that an object has not.
func free(o *object, key string) string {
	for o.index(key) >= 0 {
		key += "_"
	}
	return key
}

// judge tries a keyword without the others, and leaves it out where it cannot be
// read.
func (a *adapter) judge(o *object, m member, at string) {
	if m.key == "$ref" || m.key == "$dynamicRef" {
		return
	}
	err := readable(m)
	if err == nil {
		return
	}
	switch value := m.value.(type) {
	case []any:
		if m.key == "required" {
			left := slices.DeleteFunc(slices.Clone(value), func(name any) bool { _, ok := name.(string); return !ok })
			o.set(m.key, left)
			a.protect(o, value)
			a.lose(at, m.key, "holds what is no name", false)
			return
		}
	case *object:
		if m.key == "patternProperties" {
			a.patterns(o, value, at)
			return
		}
	}
	why := "cannot be " + excerpt.Shorten(string(mustMarshal(m.value)), 80)
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
		why = "cannot be read: " + bad.Error()
	} else if text := strings.TrimPrefix(err.Error(), "not a JSON Schema: "); !strings.Contains(text, "json: ") {
		why = "cannot be read: " + text
	}
	a.drop(o, at, m.key, why, foreignPattern(err))
}

// foreignPattern reports whether a pattern may be one for other readers of
// regular expressions, and not just wrong.
func foreignPattern(err error) bool {
	bad, ok := errors.AsType[*syntax.Error](err)
	return ok && slices.Contains([]syntax.ErrorCode{syntax.ErrInvalidPerlOp, syntax.ErrInvalidCharRange,
		syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatSize, syntax.ErrInvalidNamedCapture, syntax.ErrLarge}, bad.Code)
}

// readable tries a keyword alone, with schemas in it that take anything.
func readable(m member) error {
	value := m.value
	switch inner := value.(type) {
	case []any:
		if holders[m.key] == listOfSchemas {
			value = slices.Repeat([]any{true}, len(inner))
		}
	case *object:
		switch holders[m.key] {
		case oneSchema:
			value = true
		case namedSchemas:
			empty := new(object)
			for _, name := range inner.members {
				empty.members = append(empty.members, member{name.key, true})
			}
			value = empty
		}
	}
	raw := mustMarshal(&object{[]member{{m.key, value}}})
	if _, err := Compile(raw); err != nil {
		return err
	}
	_, err := resolve(raw)
	return err
}

// patterns leaves out the names that cannot be read. What they are for is then
// taken, and protected, as any other property.
func (a *adapter) patterns(o, byPattern *object, at string) {
	rest, given := o.get("additionalProperties")
	if !given {
		rest = true
	}
	either := []any{rest}
	for _, m := range slices.Clone(byPattern.members) {
		err := readable(member{"patternProperties", &object{[]member{{m.key, true}}}})
		if err == nil {
			continue
		}
		byPattern.remove(m.key)
		either = append(either, m.value)
		a.lose(at, "patternProperties", "has a pattern that cannot be read: "+excerpt.Shorten(m.key, 80),
			foreignPattern(err))
	}
	o.set("additionalProperties", &object{[]member{{"anyOf", either}}})
	for i, schema := range either {
		if s, ok := schema.(*object); ok {
			a.move(s, fmt.Sprintf("%s/additionalProperties/anyOf/%d", at, i))
		}
	}
}

// move notes the new place of a schema and of those below it.
func (a *adapter) move(o *object, to string) {
	from := a.places[o] + "/"
	a.places[o] = to
	for inner, place := range a.places {
		if below, ok := strings.CutPrefix(place, from); ok {
			a.places[inner] = to + "/" + below
		}
	}
}

// refer writes all references as JSON pointers from the root, where they are not
// already. A schema that stands where no keyword holds any is copied to $defs.
func (a *adapter) refer() {
	for i := 0; i < len(a.referring); i++ {
		o := a.referring[i]
		written, given := o.get("$ref")
		if !given {
			continue
		}
		text, _ := written.(string)
		target, isObject := a.targets[o].(*object)
		if !isObject {
			o.remove("$ref")
			if a.targets[o] == false {
				o.set("not", new(object))
			}
			a.changed = true
			continue
		}
		if _, placed := a.places[target]; !placed {
			target = a.copied(target)
		}
		if now, ok := inRoot(a.root, text); !ok || now != target {
			o.set("$ref", refTo(a.places[target]))
			a.changed = true
		}
	}
}

// end leaves out the references that never end.
func (a *adapter) end() {
	refs := newReferences(a.root)
	for _, o := range a.referring {
		for _, key := range refKeywords {
			if o.index(key) >= 0 && refs.endless(o) {
				a.drop(o, a.places[o], key, "leads to itself", false)
			}
		}
	}
}

// copied gives the copy in $defs of a schema that stands elsewhere.
func (a *adapter) copied(target *object) *object {
	if a.copies[target] == nil {
		a.copies[target], _ = a.clone(target).(*object)
	}
	c := a.copies[target]
	if _, placed := a.places[c]; placed {
		return c
	}
	value, _ := a.root.get("$defs")
	defs, ok := value.(*object)
	if !ok {
		defs = new(object)
		a.root.set("$defs", defs)
	}
	name := free(defs, "schema"+strconv.Itoa(len(defs.members)))
	defs.set(name, c)
	a.changed = true
	a.schema(c, "/$defs/"+name)
	return c
}

func (a *adapter) clone(value any) any {
	switch value := value.(type) {
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = a.clone(value[i])
		}
		return out
	case *object:
		out := &object{slices.Clone(value.members)}
		for i := range out.members {
			out.members[i].value = a.clone(out.members[i].value)
		}
		if target, ok := a.targets[value]; ok {
			a.targets[out] = target
		}
		return out
	}
	return value
}
