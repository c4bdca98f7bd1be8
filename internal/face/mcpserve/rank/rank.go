// Package rank finds the short documents that best match words.
package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Document is a document to search.
type Document struct {
	// Name counts most, More least.
	Name, Text, More string
}

// Weights of a word by its place.
const (
	inName = 4.0
	inText = 1.5
	inMore = 0.5
	// partly is the weight if one word is a prefix of the other.
	partly = 0.6
)

// Best returns the indexes of the documents that match words of query, best first, equal ones by name.
// Rare words count more. An empty query returns all in order.
func Best(query string, documents []Document) []int {
	words := wordsOf(query)
	indexed := make([]map[string]float64, len(documents))
	for i, d := range documents {
		indexed[i] = index(d)
	}
	scores := make([]float64, len(documents))
	for _, word := range words {
		hits, holding := make([]float64, len(documents)), 0
		for i := range documents {
			if hits[i] = hit(indexed[i], word); hits[i] > 0 {
				holding++
			}
		}
		rarity := math.Log(1 + float64(len(documents))/float64(1+holding))
		for i := range hits {
			scores[i] += hits[i] * rarity
		}
	}
	var best []int
	for i := range documents {
		if len(words) == 0 || scores[i] > 0 {
			best = append(best, i)
		}
	}
	if len(words) > 0 {
		slices.SortStableFunc(best, func(a, b int) int {
			if scores[a] != scores[b] {
				return cmp.Compare(scores[b], scores[a])
			}
			return strings.Compare(documents[a].Name, documents[b].Name)
		})
	}
	return best
}

// index returns the weight of each word of a document.
func index(d Document) map[string]float64 {
	weights := make(map[string]float64)
	for _, part := range []struct {
		text   string
		weight float64
	}{{d.Name, inName}, {d.Text, inText}, {d.More, inMore}} {
		for _, word := range wordsOf(part.text) {
			weights[word] = max(weights[word], part.weight)
		}
	}
	return weights
}

// hit returns the weight of the best matching word.
func hit(weights map[string]float64, word string) float64 {
	best := weights[word]
	for other, weight := range weights {
		if len(word) >= 3 && len(other) >= 3 && (strings.HasPrefix(other, word) || strings.HasPrefix(word, other)) {
			best = max(best, weight*partly)
		}
	}
	return best
}

// wordsOf splits a text into lower-case words, at non-alphanumerics and before capitals after a small
// letter. Stop words are left out.
func wordsOf(text string) []string {
	var words []string
	var word []rune
	end := func() {
		if w := strings.ToLower(string(word)); w != "" && !slices.Contains(stopWords(), w) {
			words = append(words, w)
		}
		word = word[:0]
	}
	small := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			small = false
			continue
		}
		if small && unicode.IsUpper(r) {
			end()
		}
		small = unicode.IsLower(r)
		word = append(word, r)
	}
	end()
	return words
}

func stopWords() []string {
	return []string{"a", "an", "and", "at", "by", "for", "from", "in", "into", "is", "it", "of", "on", "or", "the",
		"to", "with"}
}
