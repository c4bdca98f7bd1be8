package analysis

import (
	"path"
	"slices"
	"sync"

	"github.com/boyter/scc/v3/processor"
)

// counter counts lines and branches with scc, whose tables are package variables: one is made per
// process.
type counter struct {
	mu sync.Mutex
	// known are the languages with scc rules, true once loaded.
	known map[string]bool
}

var newCounter = sync.OnceValue(func() *counter {
	processor.ConfigureLazy(true)
	processor.ProcessConstants()
	c := &counter{known: make(map[string]bool)}
	for _, names := range processor.ExtensionToLanguage {
		for _, name := range names {
			c.known[name] = false
		}
	}
	for _, name := range processor.FilenameToLanguage {
		c.known[name] = false
	}
	return c
})

// count returns the sizes of a text. Without scc rules, all non-blank lines are code.
func (c *counter) count(name, language string, data []byte) Counts {
	job := &processor.FileJob{Filename: path.Base(name), Language: c.language(path.Base(name), language), Content: data,
		Bytes: int64(len(data))}
	processor.CountStats(job)
	return Counts{Lines: job.Lines, Code: job.Code, Comments: job.Comment, Blanks: job.Blank,
		Complexity: job.Complexity}
}

// language returns scc's name of a language, else its guess by file.
func (c *counter) language(name, language string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[language]; !ok {
		candidates, _ := processor.DetectLanguage(name)
		i := slices.IndexFunc(candidates, func(s string) bool { _, ok := c.known[s]; return ok })
		if i < 0 {
			return language
		}
		language = candidates[i]
	}
	if !c.known[language] {
		processor.LoadLanguageFeature(language)
		c.known[language] = true
	}
	return language
}
