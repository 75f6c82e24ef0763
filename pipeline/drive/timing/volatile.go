package timing

// Extent is a stretch of sectors.
type Extent struct{ LBA, Sectors int64 }

// Cache is a [Model] that knows what it would lose without power.
type Cache interface {
	Model
	// Volatile gives the stretches of [from, to) whose content, as last
	// acknowledged, is in a volatile cache and nowhere else. What the media is
	// taking at this instant counts as taken. Stretches may overlap, and come
	// in no order.
	Volatile(from, to int64) []Extent
}
