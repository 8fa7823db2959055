package extractor

// parts are the values of a composite's terms.
type parts struct{ lists []List }

// composite adds every combination of the terms' values to the list.
func (w *walk) composite(out *List) error {
	p := w.path.scratch.Get().(*parts)
	// After a panic they are left to the collector: nothing that still holds values of a call is put back.
	for i, t := range w.path.terms {
		l := &p.lists[i]
		if err := w.term(t, l); err != nil {
			p.release(&w.path.scratch)
			return err
		}
		out.truncated = out.truncated || l.truncated
		if l.Len() == 0 {
			p.release(&w.path.scratch)
			return nil
		}
	}
	var chosen [maxTerms]Value
	combine(p.lists, 0, &chosen, out)
	p.release(&w.path.scratch)
	return nil
}

// combine adds the combinations whose first n parts are chosen, as long as there is room.
func combine(lists []List, n int, chosen *[maxTerms]Value, out *List) {
	if n == len(lists) {
		out.Add(Join(chosen[:n]...))
		return
	}
	for i := range lists[n].Len() {
		if lists[n].Len() > 1 && !out.More() {
			return
		}
		chosen[n] = lists[n].At(i)
		combine(lists, n+1, chosen, out)
	}
}

// release empties the lists and puts them back.
func (p *parts) release(pool interface{ Put(any) }) {
	for i := range p.lists {
		p.lists[i].Reset()
	}
	pool.Put(p)
}
