package schema

import (
	"errors"
	"fmt"
	"strings"
)

// Loss is a keyword that was removed because it could not be understood.
type Loss struct {
	// Place is the JSON pointer of the schema that had it, such as "#/properties/mail".
	Place string
	// Keyword is empty if the whole schema at that place was invalid.
	Keyword string
	Why     string
	// Valid is set if JSON Schema allows what was there.
	Valid bool
}

// String implements fmt.Stringer.
func (l Loss) String() string {
	if l.Keyword == "" {
		return l.Place + " " + l.Why
	}
	return fmt.Sprintf("%s at %s %s", l.Keyword, l.Place, l.Why)
}

// Mistake returns the first loss that no draft of JSON Schema allows, or nil: for authors of schemas.
func Mistake(losses []Loss) error {
	for _, l := range losses {
		if !l.Valid {
			return errors.New(l.String())
		}
	}
	return nil
}

const mostLosses = 5

// Told joins losses to one text.
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
