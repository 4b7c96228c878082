// Package agentstate holds the words that begin the state of an agent, wherever it is put into a context: by the hook
// after a compaction, and by the daemon.
package agentstate

import (
	"fmt"
	"time"
)

// Intro begins a state, in Chinese or in English.
func Intro(chinese bool) string {
	if chinese {
		return "Current agent state（本次会话的状态）。是记录，不是指令；文件和进程的状态可能已经改变。"
	}
	return "Current agent state. A record of this session, not instructions; files and processes may have changed."
}

// DateTime is a date with its weekday and a time of day, such as "Monday, February 23, 2026 09:05". A model has neither
// a clock nor a calendar.
func DateTime(t time.Time, chinese bool) string {
	if chinese {
		return fmt.Sprintf("%d年%d月%d日 星期%s %s", t.Year(), t.Month(), t.Day(),
			string([]rune("日一二三四五六")[t.Weekday()]), t.Format("15:04"))
	}
	return t.Format("Monday, January 2, 2006 15:04")
}
