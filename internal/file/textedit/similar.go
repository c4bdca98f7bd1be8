package textedit

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

const (
	// pieceSize is the least length of the pieces in which a long line is compared, in bytes.
	pieceSize = 200
	// closeEnough is the least likeness, of 1, worth showing.
	closeEnough = 0.45
	comparisons = 50_000
)

// bigrams are the pairs of adjacent bytes of a line, without whitespace.
type bigrams struct {
	count map[[2]byte]int
	total int
	// seen is a fast filter: bit i is set for pairs whose hash is i.
	seen [128]uint64
}

func newBigrams(line []byte) *bigrams {
	b := &bigrams{count: make(map[[2]byte]int)}
	line = squeeze(nil, line)
	for i := 0; i+1 < len(line); i++ {
		pair := [2]byte{line[i], line[i+1]}
		b.count[pair]++
		b.total++
		h := hashPair(pair)
		b.seen[h>>6] |= 1 << (h & 63)
	}
	return b
}

func hashPair(p [2]byte) uint { return (uint(p[0])*67 + uint(p[1])*31) & 8191 }

// roughly returns an upper bound of likeness.
func (b *bigrams) roughly(line []byte) float64 {
	total, hits := len(line)-1, 0
	if total < 1 || b.total < 1 {
		return 0
	}
	for i := 0; i < total; i++ {
		h := hashPair([2]byte{line[i], line[i+1]})
		hits += int(b.seen[h>>6] >> (h & 63) & 1)
	}
	return score(min(hits, b.total), b.total, total)
}

// likeness returns how similar a squeezed line is, from 0 to 1.
func (b *bigrams) likeness(line []byte) float64 {
	other := newBigrams(line)
	if b.total < 1 || other.total < 1 {
		return 0
	}
	hits := 0
	for pair, n := range other.count {
		hits += min(n, b.count[pair])
	}
	return score(hits, b.total, other.total)
}

// score weighs how much of the wanted text is there (it may be part of a line) and how little else.
func score(hits, wanted, there int) float64 {
	return 0.7*float64(hits)/float64(wanted) + 0.3*2*float64(hits)/float64(wanted+there)
}

type candidate struct {
	index int
	piece []byte
	score float64
}

// similar returns the single lines most like the longest line of old.
func similar(lines [][]byte, old []string, limit int) []Near {
	target := slices.MaxFunc(old, func(a, b string) int {
		return cmp.Compare(len(bytes.TrimSpace([]byte(a))), len(bytes.TrimSpace([]byte(b))))
	})
	grams := newBigrams(truncate.Head([]byte(target), 4*pieceSize))
	size := max(pieceSize, 2*min(len(target), 4*pieceSize))
	var best []candidate
	var buf []byte
	budget := comparisons
	for i, line := range lines {
		for _, piece := range pieces(line, size) {
			buf = squeeze(buf[:0], piece)
			if floor := least(best, limit); budget == 0 || grams.roughly(buf) <= floor {
				continue
			} else if score := grams.likeness(buf); score > floor {
				best = insertCandidate(best, candidate{i, piece, score}, limit)
			}
			budget--
		}
	}
	list := make([]Near, 0, len(best))
	for _, c := range best {
		list = append(list, place(c.index, c.piece, false))
	}
	return list
}

// least returns the likeness that a new candidate must exceed.
func least(best []candidate, limit int) float64 {
	if len(best) < limit {
		return closeEnough
	}
	return best[len(best)-1].score
}

// insertCandidate adds c to the best, ordered by score and then by line.
func insertCandidate(best []candidate, c candidate, limit int) []candidate {
	if i := slices.IndexFunc(best, func(b candidate) bool { return b.index == c.index }); i >= 0 {
		if best[i].score >= c.score {
			return best
		}
		best = slices.Delete(best, i, i+1)
	}
	best = append(best, c)
	slices.SortStableFunc(best, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	return best[:min(len(best), limit)]
}

// pieces splits a line longer than size into pieces that overlap by half.
func pieces(line []byte, size int) [][]byte {
	if len(line) <= size {
		return [][]byte{line}
	}
	var list [][]byte
	for at := 0; at < len(line); at += size / 2 {
		from := at
		for from < len(line) && from > 0 && !utf8.RuneStart(line[from]) {
			from++
		}
		list = append(list, truncate.Head(line[from:], size))
	}
	return list
}
