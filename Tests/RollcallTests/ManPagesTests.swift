import Testing

@testable import RollcallTools

/// Manual pages of a small tree of commands. Source: V6.
@Suite struct ManPagesTests {
    private static let dump = #"""
        {"command":{"commandName":"rollcall","abstract":"Who can be reached.","subcommands":[
          {"commandName":"take","abstract":"Say it's - yours.","discussion":"See `rollcall status`.",
           "shouldDisplay":true,"arguments":[
            {"kind":"positional","valueName":"incident","isOptional":false,"shouldDisplay":true,
             "abstract":"Its number … or key."},
            {"kind":"option","valueName":"form","isOptional":true,"shouldDisplay":true,
             "abstract":".dots","defaultValue":"a\\b",
             "names":[{"kind":"long","name":"output"},{"kind":"short","name":"o"}],
             "preferredName":{"kind":"long","name":"output"}},
            {"kind":"flag","isOptional":true,"shouldDisplay":false,
             "names":[{"kind":"long","name":"hidden"}]}]},
          {"commandName":"help","shouldDisplay":true}]}}
        """#

    @Test func `a command has a page of its own`() throws {
        let pages = try #require(ManPages(dump: Self.dump, version: "1.2")).pages
        #expect(pages.map(\.file) == ["rollcall.1", "rollcall-take.1"])
        let text = try #require(pages.last?.text)
        #expect(
            text.hasPrefix(
                #"""
                .TH "ROLLCALL\-TAKE" 1 "" "Rollcall 1.2" "Rollcall"
                .nh
                .ad l
                .SH "NAME"
                rollcall\-take \- Say it\(aqs \- yours
                .SH "SYNOPSIS"
                \fBrollcall take\fR
                \fIincident\fR
                [\fB\-\-output\fR \fIform\fR]
                .SH "DESCRIPTION"
                See \fBrollcall status\fR.
                .SH "OPTIONS"
                .TP
                \fIincident\fR
                Its number \[u2026] or key.
                .TP
                \fB\-o\fR, \fB\-\-output\fR \fIform\fR
                \&.dots (default: a\(rsb)
                .SH "EXIT STATUS"

                """#))
        #expect(!text.contains("hidden"))
    }

    @Test func `what is no dump has no pages`() {
        #expect(ManPages(dump: "") == nil && ManPages(dump: "[]") == nil)
    }
}
