package data_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/toolset/data"
)

const garden = `{
  "beds": [
    {"name": "north", "area": 12, "plants": ["leek", "kale"], "sun": false},
    {"name": "south", "area": 7.5, "plants": ["tomato", "basil", "bean"], "sun": true, "note": null},
    {"name": "east", "area": 12.0, "plants": [], "sun": true}
  ],
  "tools": {"rake": 2, "spade": 1, "fork": {"rake": 9}},
  "odd keys": {"a.b": 1, "c'd": 2, "e\"f": 3, "": 4, "ü": 5, "x\ny": 6, "\\": 7},
  "best": "south",
  "limit": 10
}`

const plain = `["a","b","c","d","e","f","g"]`

const mixed = `[null, true, false, 0, -1, 1.5, 1e3, "", "x", "10", [], [1], {}, {"a": null}]`

// selections are queries with their results by RFC 9535.
func selections() map[string][][2]string {
	return map[string][][2]string{
		garden: {
			// names
			{`$`, `[` + garden + `]`},
			{`$.best`, `["south"]`},
			{`$['best']`, `["south"]`},
			{`$["best"]`, `["south"]`},
			{`$ ['best']`, `["south"]`},
			{"$\n.best", `["south"]`},
			{`$[ 'best' ]`, `["south"]`},
			{`$.none`, `[]`},
			{`$.best.deeper`, `[]`},
			{`$['best','limit']`, `["south",10]`},
			{`$['limit','best','limit']`, `[10,"south",10]`},
			{`$.tools.fork.rake`, `[9]`},
			{`$['odd keys']['a.b']`, `[1]`},
			{`$['odd keys']['c\'d']`, `[2]`},
			{`$['odd keys']["c'd"]`, `[2]`},
			{`$['odd keys']["e\"f"]`, `[3]`},
			{`$['odd keys']['e"f']`, `[3]`},
			{`$['odd keys']['']`, `[4]`},
			{`$['odd keys'].ü`, `[5]`},
			{`$['odd keys']['\u00fc']`, `[5]`},
			{`$['odd keys']['\u00FC']`, `[5]`},
			{`$['odd keys']['x\ny']`, `[6]`},
			{`$['odd keys']['\\']`, `[7]`},
			{`$.beds.name`, `[]`},
			// indexes and wildcards
			{`$.beds[0].name`, `["north"]`},
			{`$.beds[-1].name`, `["east"]`},
			{`$.beds[-3].name`, `["north"]`},
			{`$.beds[3]`, `[]`},
			{`$.beds[-4]`, `[]`},
			{`$.tools[0]`, `[]`},
			{`$.beds[*].name`, `["north","south","east"]`},
			{`$.beds.*.name`, `["north","south","east"]`},
			{`$.tools.*`, `[2,1,{"rake":9}]`},
			{`$.tools[*]`, `[2,1,{"rake":9}]`},
			{`$.tools.*.*`, `[9]`},
			{`$.best.*`, `[]`},
			{`$.beds[0,2].name`, `["north","east"]`},
			{`$.beds[2,0,2].name`, `["east","north","east"]`},
			{`$.beds[*]['name','area']`, `["north",12,"south",7.5,"east",12.0]`},
			{`$.beds[0]['none',"name"]`, `["north"]`},
			{`$.beds[1].plants[0, -1]`, `["tomato","bean"]`},
			{`$.beds[1].note`, `[null]`},
			{`$.beds[1].note.x`, `[]`},
			// descendants
			{`$..rake`, `[2,9]`},
			{`$..['rake']`, `[2,9]`},
			{`$.tools..rake`, `[2,9]`},
			{`$..plants[0]`, `["leek","tomato"]`},
			{`$..plants[-1:]`, `["kale","bean"]`},
			{`$.tools..*`, `[2,1,{"rake":9},9]`},
			{`$.beds[0]..*`, `["north",12,["leek","kale"],false,"leek","kale"]`},
			{`$..none`, `[]`},
			{`$..['rake','spade']`, `[2,1,9]`},
			{`$.beds..[0]`, `[{"name":"north","area":12,"plants":["leek","kale"],"sun":false},"leek","tomato"]`},
			{`$..tools..rake`, `[2,9]`},
			// filters: existence
			{`$.beds[?@.note].name`, `["south"]`},
			{`$.beds[?!@.note].name`, `["north","east"]`},
			{`$.beds[?(@.note)].name`, `["south"]`},
			{`$.beds[?!(@.note)].name`, `["north","east"]`},
			{`$.beds[?@.plants[0]].name`, `["north","south"]`},
			{`$.beds[?@.plants[2]].name`, `["south"]`},
			{`$.beds[?@.plants.*].name`, `["north","south"]`},
			{`$.beds[?@..none].name`, `[]`},
			{`$.beds[?$.best].name`, `["north","south","east"]`},
			{`$.beds[?$.worst].name`, `[]`},
			{`$.tools[?@.rake]`, `[{"rake":9}]`},
			{`$[?@.rake]`, `[{"rake":2,"spade":1,"fork":{"rake":9}}]`},
			// filters: comparisons
			{`$.beds[?@.area == 12].name`, `["north","east"]`},
			{`$.beds[?@.area==12.0].name`, `["north","east"]`},
			{`$.beds[?@.area == 1.2e1].name`, `["north","east"]`},
			{`$.beds[?@.area == 120E-1].name`, `["north","east"]`},
			{`$.beds[?@.area != 12].name`, `["south"]`},
			{`$.beds[?@.area < 12].name`, `["south"]`},
			{`$.beds[?@.area <= 12].name`, `["north","south","east"]`},
			{`$.beds[?@.area > 7.5].name`, `["north","east"]`},
			{`$.beds[?@.area >= 7.5].name`, `["north","south","east"]`},
			{`$.beds[?12 == @.area].name`, `["north","east"]`},
			{`$.beds[?@.area > $.limit].name`, `["north","east"]`},
			{`$.beds[?@.name == $.best].area`, `[7.5]`},
			{`$.beds[?@.name == 'south'].area`, `[7.5]`},
			{`$.beds[?@.name == "south"].area`, `[7.5]`},
			{`$.beds[?@['name'] == 'south'].area`, `[7.5]`},
			{`$.beds[?@.name > 'n'].name`, `["north","south"]`},
			{`$.beds[?@.sun == true].name`, `["south","east"]`},
			{`$.beds[?@.sun == false].name`, `["north"]`},
			{`$.beds[?@.note == null].name`, `["south"]`},
			{`$.beds[?@.note != null].name`, `["north","east"]`},
			{`$.beds[?@.none == @.nothing].name`, `["north","south","east"]`},
			{`$.beds[?@.none != @.nothing].name`, `[]`},
			{`$.beds[?@.none < 1].name`, `[]`},
			{`$.beds[?@.none <= @.nothing].name`, `["north","south","east"]`},
			{`$.beds[?@.name < 5].name`, `[]`},
			{`$.beds[?@.area == '12'].name`, `[]`},
			{`$.beds[?@.plants == $.beds[0].plants].name`, `["north"]`},
			{`$.beds[?@.plants[0] == 'leek'].name`, `["north"]`},
			{`$.beds[?@.plants[-1] == 'bean'].name`, `["south"]`},
			{`$.tools[?@ == 2]`, `[2]`},
			{`$.tools[?@ > 0]`, `[2,1]`},
			// filters: logic
			{`$.beds[?@.sun && @.area > 10].name`, `["north","east"]`},
			{`$.beds[?@.sun == true && @.area > 10].name`, `["east"]`},
			{`$.beds[?@.area < 10 || @.name == 'north'].name`, `["north","south"]`},
			{`$.beds[?@.name=='north' || @.name=='south' && @.area > 100].name`, `["north"]`},
			{`$.beds[?(@.name=='north' || @.name=='south') && @.area < 10].name`, `["south"]`},
			{`$.beds[?!(@.sun == true)].name`, `["north"]`},
			{`$.beds[?!@.note && !@.none].name`, `["north","east"]`},
			{`$.beds[?@.area==12, ?@.sun==true].name`, `["north","east","south","east"]`},
			{`$.beds[?@.sun==true, 0].name`, `["south","east","north"]`},
			{`$.beds[?@.plants[?@ == 'basil']].name`, `["south"]`},
			{`$..[?@.rake == 9]`, `[{"rake":9}]`},
			// functions
			{`$.beds[?length(@.plants) == 3].name`, `["south"]`},
			{`$.beds[?length(@.plants) == 0].name`, `["east"]`},
			{`$.beds[?length(@.name) == 4].name`, `["east"]`},
			{`$.beds[?length(@) == 5].name`, `["south"]`},
			{`$.beds[?length(@.area) == 2].name`, `[]`},
			{`$['odd keys'][?length('ü') == 1]`, `[1,2,3,4,5,6,7]`},
			{`$.beds[?count(@.plants.*) > 1].name`, `["north","south"]`},
			{`$.beds[?count(@..*) == 4].name`, `["east"]`},
			{`$.beds[?count(@.plants[?@ > 'k']) == 1].name`, `["south"]`},
			{`$.beds[?match(@.name, '.o.*h')].name`, `["north","south"]`},
			{`$.beds[?match(@.name, 'sout')].name`, `[]`},
			{`$.beds[?search(@.name, 'out')].name`, `["south"]`},
			{`$.beds[?!search(@.name, 'out')].name`, `["north","east"]`},
			{`$.beds[?search(@.area, '1')].name`, `[]`},
			{`$.beds[?search(@.none, '1')].name`, `[]`},
			{`$.beds[?!match(@.none, '1') && !search('1',@.none)].name`, `["north","south","east"]`},
			{`$.beds[?(match(@.name, $.best))||search(@.name,'(n|e)a')].name`, `["south","east"]`},
			{`$.beds[?match(@.name, $.best)].name`, `["south"]`},
			{`$.beds[?match(@.name, '[ns]orth|e[a-c]st')].name`, `["north","east"]`},
			{`$.beds[?value(@..plants[2]) == 'bean'].name`, `["south"]`},
			{`$.beds[?value(@.plants.*) == 'leek'].name`, `[]`},
			{`$.beds[?length(value(@.plants)) == 3].name`, `["south"]`},
		},
		plain: {
			{`$[0]`, `["a"]`}, {`$[6]`, `["g"]`}, {`$[7]`, `[]`}, {`$[-1]`, `["g"]`}, {`$[-7]`, `["a"]`},
			{`$[-8]`, `[]`},
			{`$[1:3]`, `["b","c"]`},
			{`$[5:]`, `["f","g"]`},
			{`$[:2]`, `["a","b"]`},
			{`$[:]`, `["a","b","c","d","e","f","g"]`},
			{`$[::]`, `["a","b","c","d","e","f","g"]`},
			{`$[1:5:2]`, `["b","d"]`},
			{`$[5:1:-2]`, `["f","d"]`},
			{`$[::-1]`, `["g","f","e","d","c","b","a"]`},
			{`$[::3]`, `["a","d","g"]`},
			{`$[::-3]`, `["g","d","a"]`},
			{`$[-2:]`, `["f","g"]`},
			{`$[:-5]`, `["a","b"]`},
			{`$[-3:-1]`, `["e","f"]`},
			{`$[3:1]`, `[]`},
			{`$[1:1]`, `[]`},
			{`$[5:100]`, `["f","g"]`},
			{`$[-100:2]`, `["a","b"]`},
			{`$[100:]`, `[]`},
			{`$[::0]`, `[]`},
			{`$[2::-1]`, `["c","b","a"]`},
			{`$[:3:-1]`, `["g","f","e"]`},
			{`$[-1:-4:-1]`, `["g","f","e"]`},
			{`$[1:3,0]`, `["b","c","a"]`},
			{`$[ 1 : 3 ]`, `["b","c"]`},
			{`$[0:9007199254740991:9007199254740991]`, `["a"]`},
			{`$[?@ >= 'f']`, `["f","g"]`},
			{`$['a']`, `[]`},
			{`$.*`, `["a","b","c","d","e","f","g"]`},
			{`$..*`, `["a","b","c","d","e","f","g"]`},
		},
		mixed: {
			{`$[?@ == null]`, `[null]`},
			{`$[?@ == true]`, `[true]`},
			{`$[?@ == 0]`, `[0]`},
			{`$[?@ == -0]`, `[0]`},
			{`$[?@ < 0]`, `[-1]`},
			{`$[?@ > 1]`, `[1.5,1e3]`},
			{`$[?@ == 1000]`, `[1e3]`},
			{`$[?@ == '10']`, `["10"]`},
			{`$[?@ == 10]`, `[]`},
			{`$[?@ < 'x']`, `["","10"]`},
			{`$[?@.a]`, `[{"a":null}]`},
			{`$[?@.a == null]`, `[{"a":null}]`},
			{`$[?@[0]]`, `[[1]]`},
			{`$[?@ == @]`, mixed},
			{`$[?@ == $[11]]`, `[[1]]`},
			{`$[?@ == $[13]]`, `[{"a":null}]`},
			{`$[?@ != 1]`, mixed},
			{`$[?@ > false]`, `[]`},
			{`$[?@ >= false]`, `[false]`},
			{`$[?@ <= true]`, `[true]`},
			{`$[?@ >= null]`, `[null]`},
			{`$[?@ <= $[10]]`, `[[]]`},
			{`$[?@ >= $[12]]`, `[{}]`},
			{`$[?@.x <= @.y]`, mixed},
			{`$[?@.x >= @.y]`, mixed},
			{`$[?@.x > @.y]`, `[]`},
			{`$[?@.a >= @.y]`, `[null,true,false,0,-1,1.5,1e3,"","x","10",[],[1],{}]`},
			{`$[?!(@ <= 0) && !(@>0)]`, `[null,true,false,"","x","10",[],[1],{},{"a":null}]`},
			{`$[?(@>=1)||@<0]`, `[-1,1.5,1e3]`},
			{`$[?length(@)>=1]`, `["x","10",[1],{"a":null}]`},
			{`$[?@[?@>=1]]`, `[[1]]`},
			{`$[?@ >= '>' && @ <= ']' || @ == "<=)"]`, `[]`},
			{`$[?length(@) == 0]`, `["",[],{}]`},
			{`$[?count(@.*) == 0]`, `[null,true,false,0,-1,1.5,1e3,"","x","10",[],{}]`},
			{`$[3:6]`, `[0,-1,1.5]`},
		},
	}
}

func TestQuery(t *testing.T) {
	n := 0
	for doc, list := range selections() {
		v, err := data.ReadJSON([]byte(doc))
		require.NoError(t, err)
		for _, c := range list {
			n++
			t.Run(c[0], func(t *testing.T) {
				found, err := data.Query(v, c[0])
				require.NoError(t, err)
				values := make([]any, len(found))
				for i, f := range found {
					values[i] = f.Value
				}
				got, err := data.WriteJSON(values, "")
				require.NoError(t, err)
				assert.Equal(t, compact(t, c[1]), got)
			})
		}
	}
	assert.GreaterOrEqual(t, n+len(refused()), 150)
}

// compact writes JSON without blanks, with numbers and order unchanged.
func compact(t *testing.T, text string) string {
	t.Helper()
	v, err := data.ReadJSON([]byte(text))
	require.NoError(t, err)
	out, err := data.WriteJSON(v, "")
	require.NoError(t, err)
	return out
}

func refused() []string {
	return []string{
		``, ` $`, `$ `, `best`, `.best`, `$.`, `$..`, `$best`, `$.1`, `$. best`, `$.'best'`, `$[]`, `$[best]`,
		`$['best'`, `$['best]`, `$['best',]`,
		`$[,0]`, `$[00]`, `$[-0]`, `$[1.0]`, `$[9007199254740992]`, `$[+1]`, `$[1:2:3:4]`, `$[01:2]`, `$['\x']`,
		`$['\u12']`, `$['\ud800']`, "$['a\nb']", `$["\'"]`, `$['\"']`,
		`$[?]`, `$[?@.a =]`, `$[?@.a = 1]`, `$[?@.a === 1]`, `$[?@.a == ]`, `$[?@.* == 1]`, `$[?@..a == 1]`,
		`$[?@[0,1] == 1]`, `$[?@[0:2] == 1]`, `$[?1]`, `$[?true]`, `$[?'a']`, `$[?@.a == [1]]`, `$[?@.a == {}]`,
		`$[?@.a & @.b]`, `$[?@.a and @.b]`, `$[?@.a && ]`, `$[?(@.a]`, `$[?@.a)]`, `$[?@.a == 01]`, `$[?@.a == .5]`,
		`$[?@.a == 1.]`, `$[?@.a == True]`, `$[?@.a == nil]`,
		`$[?length(@.a)]`, `$[?length(@.*) == 1]`, `$[?length() == 1]`, `$[?length(@.a, @.b) == 1]`, `$[?count(@.a)]`,
		`$[?count(1) == 1]`, `$[?match(@.a)]`, `$[?match(@.a, 'b') == true]`,
		`$[?value(@.a)]`, `$[?nope(@.a)]`, `$[?Length(@.a) == 1]`, `$[?length (@.a) == 1]`, `@.a`, `$.a.`, `$...a`,
		`$.*a`, `$..[`, `$[*`, `$[(@.length-1)]`, `$.a[?(@.b == 1) ==  true]`, `$[?!search '',$.A)]`,
	}
}

func TestQueryRefuses(t *testing.T) {
	v, err := data.ReadJSON([]byte(garden))
	require.NoError(t, err)
	for _, query := range refused() {
		t.Run(query, func(t *testing.T) {
			_, err := data.Query(v, query)
			require.Error(t, err)
			assert.Contains(t, err.Error(), "Invalid JSONPath query: ")
		})
	}
}

func TestQueryPaths(t *testing.T) {
	v, err := data.ReadJSON([]byte(garden))
	require.NoError(t, err)
	for query, want := range map[string][]string{
		`$`:                      {`$`},
		`$..rake`:                {`$['tools']['rake']`, `$['tools']['fork']['rake']`},
		`$.beds[-1].name`:        {`$['beds'][2]['name']`},
		`$['odd keys']["c'd"]`:   {`$['odd keys']['c\'d']`},
		`$['odd keys']['e"f']`:   {`$['odd keys']['e"f']`},
		`$['odd keys']['x\ny']`:  {`$['odd keys']['x\ny']`},
		`$['odd keys']['\\']`:    {`$['odd keys']['\\']`},
		`$.beds[1].plants[::-2]`: {`$['beds'][1]['plants'][2]`, `$['beds'][1]['plants'][0]`},
	} {
		found, err := data.Query(v, query)
		require.NoError(t, err)
		var paths []string
		for _, f := range found {
			paths = append(paths, f.Path)
			again, err := data.Query(v, f.Path)
			require.NoError(t, err, "a path is a query")
			require.Len(t, again, 1)
			assert.Equal(t, f, again[0])
		}
		assert.Equal(t, want, paths, query)
	}
}

func TestQueryIsBounded(t *testing.T) {
	doc := "[0,1,2,3,4,5,6,7,8,9]"
	for range 3 {
		doc = fmt.Sprintf("[%s,%s,%s,%s]", doc, doc, doc, doc)
	}
	v, err := data.ReadJSON([]byte(doc))
	require.NoError(t, err)
	_, err = data.Query(v, "$..*..*..*..*")
	require.NoError(t, err)
	_, err = data.Query(v, "$..*[*,*,*,*]..*[?@<5,?@<5,?@<5,?@<5,?@<5,?@<5]..[*,*,*,*,*,*,*,*,*,*][*,*,*]")
	if err != nil {
		assert.Contains(t, err.Error(), "visits more than")
	}
	_, err = data.Query(v, "$[*,*,*,*,*,*,*,*,*,*][*,*,*,*,*,*,*,*,*,*][*,*,*,*,*,*,*,*,*,*][*,*,*,*,*,*,*,*,*,*]")
	require.ErrorContains(t, err, "visits more than 1000000 nodes")
}

func FuzzQuery(f *testing.F) {
	for _, list := range selections() {
		for _, c := range list {
			f.Add(c[0])
		}
	}
	v, err := data.ReadJSON([]byte(mixed))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, query string) {
		found, err := data.Query(v, query)
		if err != nil {
			return
		}
		for _, one := range found {
			again, err := data.Query(v, one.Path)
			require.NoError(t, err)
			require.Len(t, again, 1)
		}
	})
}
