package dot

const (
	panelRows    = 32 // rows of weights in a panel
	panelColumns = 4  // columns that are side by side
)

// intoPanels copies rows of weights into panels, one after the other: four columns after the other, of all rows of the
// panel, with the second column and the third exchanged.
func intoPanels(panels, weights []int8, k int) {
	for ; len(weights) > 0; panels, weights = panels[panelRows*k:], weights[panelRows*k:] {
		for row := range panelRows {
			for column := 0; column < k; column += panelColumns {
				from, to := weights[row*k+column:][:panelColumns], panels[panelRows*column+panelColumns*row:][:panelColumns]
				to[0], to[1], to[2], to[3] = from[0], from[2], from[1], from[3]
			}
		}
	}
}
