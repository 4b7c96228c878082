package analysis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// dateRanges lists the dates of a query as "from before", joined by "|".
func dateRanges(query string, now time.Time) string {
	var all []string
	for _, d := range analysis.ParseDates(analysis.Normalize(query), now) {
		all = append(all, d.From.Format(time.DateOnly)+" "+d.Before.Format(time.DateOnly))
	}
	return strings.Join(all, "|")
}

func TestParseDates(t *testing.T) {
	now := time.Date(2026, 2, 21, 15, 0, 0, 0, time.UTC) // a Saturday
	for _, tt := range []struct{ query, want string }{
		{"what happened on 2026-02-03", "2026-02-03 2026-02-04"},
		{"2026/2/3?", "2026-02-03 2026-02-04"},
		{"2026-13-40", ""},
		{"on 17.03.2026 we", "2026-03-17 2026-03-18"},
		{"03/17/2026", "2026-03-17 2026-03-18"},
		{"05/06/2025?", "2025-06-05 2025-06-06|2025-05-06 2025-05-07"},
		{"10.12.2025.3", ""},
		{"3月17号那天", "2025-03-17 2025-03-18"},
		{"07月", "2025-07-01 2025-08-01"},
		{"七月", "2025-07-01 2025-08-01"},
		{"meeting on March 5, 2025", "2025-03-05 2025-03-06"},
		{"meeting on March 5", "2025-03-05 2025-03-06"},
		{"7 May 2023", "2023-05-07 2023-05-08"},
		{"the 2nd of January", "2026-01-02 2026-01-03"},
		{"plans of June 2025", "2025-06-01 2025-07-01"},
		{"what did we do in May", "2025-05-01 2025-06-01"},
		{"may I march in?", ""},
		{"yesterday", "2026-02-20 2026-02-21"},
		{"today and yesterday", "2026-02-21 2026-02-22|2026-02-20 2026-02-21"},
		{"last Tuesday", "2026-02-17 2026-02-18"},
		{"last Saturday", "2026-02-14 2026-02-15"},
		{"on Saturday", "2026-02-21 2026-02-22"},
		{"last week", "2026-02-09 2026-02-16"},
		{"this month", "2026-02-01 2026-03-01"},
		{"last year", "2025-01-01 2026-01-01"},
		{"3 days ago", "2026-02-18 2026-02-19"},
		{"two months ago", "2025-12-01 2026-01-01"},
		{"in 2024", "2024-01-01 2025-01-01"},
		{"2026年2月3日", "2026-02-03 2026-02-04"},
		{"2025年6月", "2025-06-01 2025-07-01"},
		{"2月3号说的", "2026-02-03 2026-02-04"},
		{"去年三月", "2025-03-01 2025-04-01"},
		{"昨天", "2026-02-20 2026-02-21"},
		{"前天", "2026-02-19 2026-02-20"},
		{"上周", "2026-02-09 2026-02-16"},
		{"上周三", "2026-02-11 2026-02-12"},
		{"这周一", "2026-02-16 2026-02-17"},
		{"上个月", "2026-01-01 2026-02-01"},
		{"去年", "2025-01-01 2026-01-01"},
		{"三天前", "2026-02-18 2026-02-19"},
		{"十二月二十五日", "2025-12-25 2025-12-26"},
		{"version 1.26.8 of E0308", ""},
	} {
		t.Run(tt.query, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, dateRanges(tt.query, now)); diff != "" {
				t.Errorf("dates (-want +got):\n%s", diff)
			}
		})
	}
}
