package run

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	frame = 200 * time.Millisecond // the time between two looks at what has changed
	again = time.Second            // and between two at why
)

// model is the view as bubbletea knows it.
type model struct{ *Live }

type (
	frameDue struct{}
	lookDue  struct{}
)

func nextFrame() tea.Cmd { return tea.Tick(frame, func(time.Time) tea.Msg { return frameDue{} }) }

// nextLook looks beside the program, and then waits.
func (m model) nextLook(after time.Duration) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-time.After(after):
		case <-m.ctx.Done():
		}
		m.look()
		return lookDue{}
	}
}

func (m model) Init() tea.Cmd { return tea.Batch(nextFrame(), m.nextLook(again)) }

func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.Tell(func(v *View) { v.Resize(msg.Width, msg.Height) })
	case tea.KeyPressMsg:
		return m, m.press(msg.String())
	case frameDue:
		return m, nextFrame()
	case lookDue:
		return m, m.nextLook(again)
	}
	return m, nil
}

func (m model) press(key string) tea.Cmd {
	var action Action
	asked := false
	m.Tell(func(v *View) {
		before := v.WantsWhy()
		action = v.Press(key)
		asked = v.WantsWhy() && !before
	})
	switch {
	case action.Do == Suspend:
		return tea.Suspend
	case action.Do != Nothing:
		m.config.Do(action)
	case asked:
		return func() tea.Msg { m.look(); return nil }
	}
	return nil
}

func (m model) View() tea.View {
	var out tea.View
	m.Tell(func(v *View) { out = tea.NewView(v.Screen(time.Now())) })
	out.AltScreen = true
	return out
}
