package archiver

// Near returns, for each text, the ordinals of those near to it: as they are found, and as comparing with every one
// finds them.
func Near(texts []string, least float64) (found, all [][]int32) {
	index := newTextIndex(nil)
	for _, t := range texts {
		index.add(t, nil)
	}
	for _, a := range index.texts {
		var near []int32
		for i, b := range index.texts {
			if a.overlap(b) >= least {
				near = append(near, int32(i))
			}
		}
		found, all = append(found, index.similarTo(a, least)), append(all, near)
	}
	return found, all
}

// Prompts are the system prompts about logs, by the name of their file.
var Prompts = map[string]string{"prompts/system_en.txt": systemEn, "prompts/system_zh.txt": systemZh}
