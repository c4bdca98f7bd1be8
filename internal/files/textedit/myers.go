package textedit

import "math"

// search finds a short edit script by Myers' algorithm, from both ends at the
// same time and in linear space. Where the texts differ so much that the
// shortest script would take too long, it settles for a good one, by the
// rules that git has too.
type search struct {
	a, b *sequence
	// forward and backward hold, for each diagonal, how far a search got in a.
	forward, backward []int
	// zero is the index of diagonal 0 in them.
	zero    int
	maxCost int
}

const (
	leastMaxCost = 256
	// longSnake is how many equal lines in a row make a promising path.
	longSnake = 20
	// greedyCost is the cost from which on a promising path is taken.
	greedyCost   = 256
	greedyFactor = 4
	nowhere      = math.MaxInt
)

func newSearch(a, b *sequence) *search {
	diagonals := len(a.ids) + len(b.ids) + 3
	return &search{
		a: a, b: b,
		forward:  make([]int, diagonals+1),
		backward: make([]int, diagonals+1),
		zero:     len(b.ids) + 1,
		maxCost:  max(roughRoot(diagonals), leastMaxCost),
	}
}

// run marks what changed between a[a0:a1] and b[b0:b1].
func (s *search) run(a0, a1, b0, b1 int, minimal bool) {
	x, y := s.a.ids, s.b.ids
	for a0 < a1 && b0 < b1 && x[a0] == y[b0] {
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && x[a1-1] == y[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	if a0 == a1 || b0 == b1 {
		s.a.mark(a0, a1)
		s.b.mark(b0, b1)
		return
	}
	p := s.split(box{a0, a1, b0, b1}, minimal)
	s.run(a0, p.a, b0, p.b, p.minimalBefore)
	s.run(p.a, a1, p.b, b1, p.minimalAfter)
}

func (s *sequence) mark(from, to int) {
	for _, line := range s.at[from:to] {
		s.changed[line] = true
	}
}

// box is the part of the edit graph that is searched.
type box struct{ a0, a1, b0, b1 int }

// point is where a box is divided, and which parts need a shortest script.
type point struct {
	a, b                        int
	minimalBefore, minimalAfter bool
}

// front is the range of diagonals that one of the two searches has reached.
type front struct {
	reach    []int
	mid      int
	min, max int
}

// widen makes the range one wider at each end, or narrower where it would
// leave the box, and puts edge beyond both ends.
func (f *front) widen(least, most, zero, edge int) {
	if f.min > least {
		f.min--
		f.reach[zero+f.min-1] = edge
	} else {
		f.min++
	}
	if f.max < most {
		f.max++
		f.reach[zero+f.max+1] = edge
	} else {
		f.max--
	}
}

func (f *front) has(d int) bool { return f.min <= d && d <= f.max }

func (s *search) split(b box, minimal bool) point {
	least, most := b.a0-b.b1, b.a1-b.b0
	fwd := &front{reach: s.forward, mid: b.a0 - b.b0, min: b.a0 - b.b0, max: b.a0 - b.b0}
	bwd := &front{reach: s.backward, mid: b.a1 - b.b1, min: b.a1 - b.b1, max: b.a1 - b.b1}
	odd := (fwd.mid-bwd.mid)&1 != 0
	fwd.reach[s.zero+fwd.mid] = b.a0
	bwd.reach[s.zero+bwd.mid] = b.a1
	for cost := 1; ; cost++ {
		fwd.widen(least, most, s.zero, -1)
		p, snake, met := s.stepForward(b, fwd, bwd, odd)
		if met {
			return p
		}
		bwd.widen(least, most, s.zero, nowhere)
		p, snakeBack, met := s.stepBackward(b, fwd, bwd, odd)
		if met {
			return p
		}
		if minimal {
			continue
		}
		if (snake || snakeBack) && cost > greedyCost {
			if p, ok := s.promising(b, fwd, bwd, cost); ok {
				return p
			}
		}
		if cost >= s.maxCost {
			return s.furthest(b, fwd, bwd)
		}
	}
}

func (s *search) stepForward(b box, fwd, bwd *front, odd bool) (p point, snake, met bool) {
	x, y := s.a.ids, s.b.ids
	for d := fwd.max; d >= fwd.min; d -= 2 {
		k := s.zero + d
		i := fwd.reach[k+1]
		if fwd.reach[k-1] >= i {
			i = fwd.reach[k-1] + 1
		}
		from := i
		for j := i - d; i < b.a1 && j < b.b1 && x[i] == y[j]; j++ {
			i++
		}
		snake = snake || i-from > longSnake
		fwd.reach[k] = i
		if odd && bwd.has(d) && bwd.reach[k] <= i {
			return point{i, i - d, true, true}, snake, true
		}
	}
	return point{}, snake, false
}

func (s *search) stepBackward(b box, fwd, bwd *front, odd bool) (p point, snake, met bool) {
	x, y := s.a.ids, s.b.ids
	for d := bwd.max; d >= bwd.min; d -= 2 {
		k := s.zero + d
		i := bwd.reach[k-1]
		if i >= bwd.reach[k+1] {
			i = bwd.reach[k+1] - 1
		}
		from := i
		for j := i - d; i > b.a0 && j > b.b0 && x[i-1] == y[j-1]; j-- {
			i--
		}
		snake = snake || from-i > longSnake
		bwd.reach[k] = i
		if !odd && fwd.has(d) && i <= fwd.reach[k] {
			return point{i, i - d, true, true}, snake, true
		}
	}
	return point{}, snake, false
}

// promising picks the path that got far with few changes and has just come
// along a long row of equal lines.
func (s *search) promising(b box, fwd, bwd *front, cost int) (point, bool) {
	x, y := s.a.ids, s.b.ids
	best, p := 0, point{minimalBefore: true}
	for d := fwd.max; d >= fwd.min; d -= 2 {
		i := fwd.reach[s.zero+d]
		j := i - d
		v := i - b.a0 + j - b.b0 - distance(d, fwd.mid)
		if v > greedyFactor*cost && v > best && b.a0+longSnake <= i && i < b.a1 && b.b0+longSnake <= j && j < b.b1 &&
			equalRun(x[i-longSnake:i], y[j-longSnake:j]) {
			best, p.a, p.b = v, i, j
		}
	}
	if best > 0 {
		return p, true
	}
	p = point{minimalAfter: true}
	for d := bwd.max; d >= bwd.min; d -= 2 {
		i := bwd.reach[s.zero+d]
		j := i - d
		v := b.a1 - i + b.b1 - j - distance(d, bwd.mid)
		if v > greedyFactor*cost && v > best && b.a0 < i && i <= b.a1-longSnake && b.b0 < j && j <= b.b1-longSnake &&
			equalRun(x[i:i+longSnake], y[j:j+longSnake]) {
			best, p.a, p.b = v, i, j
		}
	}
	return p, best > 0
}

func distance(a, b int) int { return max(a-b, b-a) }

func equalRun(a, b []int) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// furthest gives up and picks the path, of either direction, that got furthest.
func (s *search) furthest(b box, fwd, bwd *front) point {
	ahead := point{a: -1, minimalBefore: true}
	for d, best := fwd.max, -1; d >= fwd.min; d -= 2 {
		i := min(fwd.reach[s.zero+d], b.a1)
		if i-d > b.b1 {
			i = b.b1 + d
		}
		if i+i-d > best {
			best, ahead.a, ahead.b = i+i-d, i, i-d
		}
	}
	behind := point{a: nowhere, minimalAfter: true}
	for d, best := bwd.max, nowhere; d >= bwd.min; d -= 2 {
		i := max(bwd.reach[s.zero+d], b.a0)
		if i-d < b.b0 {
			i = b.b0 + d
		}
		if i+i-d < best {
			best, behind.a, behind.b = i+i-d, i, i-d
		}
	}
	if b.a1+b.b1-behind.a-behind.b < ahead.a+ahead.b-b.a0-b.b0 {
		return ahead
	}
	return behind
}
