import Glibc
import Synchronization

/// The terminal of `rollcall watch`: another screen, on which keys are read as they are pressed and not
/// shown. It is given back as it was, whatever signal ends the process. Only SIGKILL cannot be heard:
/// `reset` helps then.
///
/// The cursor stays visible, lines are wrapped as ever, and the modes of the output are not touched:
/// what is not changed need not be given back.
enum WatchScreen {
    /// Another screen, empty; and back again to what was shown before, without colours (xterm, "Private
    /// Modes": 1049).
    static let enterText: StaticString = "\u{1B}[?1049h\u{1B}[2J\u{1B}[H"
    static let leaveText: StaticString = "\u{1B}[0m\u{1B}[?1049l"
    /// Signals that end the process: from outside, and because of a fault in it.
    private static let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE]
    private static let faults = [SIGABRT, SIGILL, SIGTRAP, SIGBUS, SIGSEGV, SIGFPE]

    /// The modes that are changed: lines and echo (termios(3)).
    private static let changed = tcflag_t(ICANON | ECHO)
    /// Those of them that were set before.
    private static let before = Atomic<UInt32>(0)
    private static let hasModes = Atomic(false)
    private static let isEntered = Atomic(false)
    /// True if all of it must be drawn again, because the size is another or somebody else has drawn.
    private static let isStale = Atomic(true)

    /// True once if all must be drawn again.
    static func takeStale() -> Bool { isStale.exchange(false, ordering: .relaxed) }

    /// Wants all to be drawn again.
    static func makeStale() { isStale.store(true, ordering: .relaxed) }

    /// Takes the terminal, until `leave`. No other thread may hear a signal, which could come in the
    /// middle of a line: `withoutSignals` starts those.
    static func enter() {
        // A static is made when it is first touched, which must not be in a signal's handler.
        var modes = termios()
        if isatty(STDIN_FILENO) == 1, tcgetattr(STDIN_FILENO, &modes) == 0 {
            before.store(modes.c_lflag & changed, ordering: .relaxed)
            hasModes.store(true, ordering: .relaxed)
        }
        _ = (enterText, leaveText, isEntered.load(ordering: .relaxed))
        for number in ends + faults {
            // By the second signal it ends at once, whatever the first is waiting for.
            listen(to: number, CInt(bitPattern: UInt32(SA_RESETHAND)) | SA_NODEFER) { number in
                WatchScreen.leave()
                raise(number)
            }
        }
        listen(to: SIGTSTP, SA_NODEFER) { _ in WatchScreen.pause() }
        listen(to: SIGCONT, 0) { _ in WatchScreen.take() }
        listen(to: SIGWINCH, 0) { _ in WatchScreen.makeStale() }
        take()
    }

    /// Gives the terminal back. It may be called by a signal's handler (signal-safety(7)).
    static func leave() {
        guard isEntered.exchange(false, ordering: .relaxed) else { return }
        setModes(before.load(ordering: .relaxed))
        say(leaveText)
    }

    /// Does `work`, which starts a thread that hears no signal.
    static func withoutSignals<Value>(_ work: () -> Value) -> Value {
        var all = sigset_t()
        var old = sigset_t()
        sigfillset(&all)
        for number in faults { sigdelset(&all, number) }
        pthread_sigmask(SIG_SETMASK, &all, &old)
        defer { pthread_sigmask(SIG_SETMASK, &old, nil) }
        return work()
    }

    /// Stops as a shell's Ctrl-Z wants it; comes back once it is to go on, in which case SIGCONT's
    /// handler has taken the terminal again.
    private static func pause() {
        leave()
        signal(SIGTSTP, SIG_DFL)
        raise(SIGTSTP)
        listen(to: SIGTSTP, SA_NODEFER) { _ in WatchScreen.pause() }
        // Where nobody could continue it, the system does not stop it.
        take()
    }

    private static func take() {
        guard !isEntered.exchange(true, ordering: .relaxed) else { return makeStale() }
        setModes(0)
        say(enterText)
        makeStale()
    }

    /// Sets those of the modes that are changed; others stay as they are now.
    private static func setModes(_ flags: UInt32) {
        var modes = termios()
        guard hasModes.load(ordering: .relaxed), tcgetattr(STDIN_FILENO, &modes) == 0 else {
            return
        }
        modes.c_lflag = modes.c_lflag & ~changed | flags
        tcsetattr(STDIN_FILENO, TCSANOW, &modes)
    }

    private static func say(_ text: StaticString) {
        _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }

    private static func listen(
        to number: CInt, _ flags: CInt, _ handler: @escaping @convention(c) (CInt) -> Void
    ) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = handler
        action.sa_flags = flags
        sigemptyset(&action.sa_mask)
        sigaction(number, &action, nil)
    }
}
