/// The state as those see it who ask. Source: J8.
extension Engine {
    /// Returns the state as seen at `instant`, before which time alone changes nothing: only ages
    /// differ. For questions.
    package func viewed(at instant: RunningTime) -> Engine {
        var view = self
        view.gaps.dark.freeze(at: clock.observedNow)
        view.clock.now = max(clock.now, instant)
        return view
    }

    /// Returns the state, blind since `instant` because the store fails. For questions (J6).
    package func unstorable(since instant: RunningTime) -> Engine {
        var view = viewed(at: instant)
        view.clock.lose(.store, since: instant)
        return view
    }

    /// Returns this state with what `other` has counted since the process began, which no store has (V22).
    package func counting(as other: Engine) -> Engine {
        var view = self
        view.nativeDelay = other.nativeDelay
        return view
    }
}
