package guard

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// dimensions are the units in which one thing may be measured now in this, now in that one, in the form of unitOf.
var dimensions = func() map[string]string {
	out := map[string]string{}
	for dimension, units := range map[string]string{
		"time":   "ms s sec second min minute h hour hr day week month year 毫秒 秒 秒钟 分 分钟 小时 天 周 个月 年",
		"size":   "byte kb mb gb tb kib mib gib tib 字节",
		"money":  "eur usd gbp chf jpy cny rmb euro dollar 欧元 美元 元 块",
		"mass":   "g kg gram kilo kilogram lb 克 公斤 千克 斤",
		"length": "mm cm km meter metre kilometer mile 毫米 厘米 米 公里 千米",
	} {
		for unit := range strings.FieldsSeq(units) {
			out[unit] = dimension
		}
	}
	return out
}()

// dimensionOf returns what is measured in a unit of unitOf: the same for 30 s and 1 min. Of a unit that is not known it
// is the unit.
func dimensionOf(unit string) string {
	if d, ok := dimensions[unit]; ok {
		return d
	}
	return unit
}

// measured matches a value with the property that it measures: "8 years old", "2 units high".
var measured = lazyregexp.New(`\d.*\b(old|young|high|tall|wide|long|deep|thick|heavy|large|away|late|early)$`)

// unlike reports whether two values of one slot measure different things, so that neither replaces the other.
func unlike(a, b string) bool {
	property := func(v string) string {
		if m := measured.FindStringSubmatch(v); m != nil {
			return m[1]
		}
		return ""
	}
	return property(a) != property(b)
}
