import RollcallBasis
import Testing

/// The keys by which pagers know incidents, and how they are read back. Source: A9, D3, D11, R2.
@Suite struct IncidentKeyTests {
    @Test func `R2: a firing's key is read back, of a fallback and of a storm too`() {
        let key = IncidentKey.text(0x00c4_a3e0_f51b_2d97, 17)
        #expect(key == "rollcall-00c4a3e0f51b2d97-17")
        for text in [
            key, key + "-duty-phone", key + "-1", key + "-",
            "rollcall-00c4a3e0f51b2d97-HighOfflineRate-17",
        ] {
            #expect(IncidentKey(text)?.store == 0x00c4_a3e0_f51b_2d97, "\(text)")
            #expect(IncidentKey(text)?.incident == 17, "\(text)")
        }
        #expect(
            IncidentKey.text(1, 4, ofStorm: .highOfflineRate)
                == "rollcall-0000000000000001-HighOfflineRate-4")
        #expect(IncidentKey("17")?.incident == 17)
        #expect(IncidentKey("17")?.store == nil)
    }

    @Test(arguments: [
        "", "0", "-1", "x", "17x", "rollcall-", "rollcall-00c4a3e0f51b2d97",
        "rollcall-00c4a3e0f51b2d97-", "rollcall-00c4a3e0f51b2d97-0", "rollcall-00c4a3e0f51b2d97--1",
        "rollcall-00c4a3e0f51b2d97-store", "rollcall-00c4a3e0f51b2d97-Nothing-17",
        "rollcall-00c4a3e0f51b2d97-HighOfflineRate-x", "rollcall-c4a3e0f51b2d97-17",
        "rollcall-+0c4a3e0f51b2d97-17", "+17", "rollcall-00c4a3e0f51b2d97-+17",
        "rollcall-00c4a3e0f51b2d97017",
        "Rollcall-00c4a3e0f51b2d97-17",
        "99999999999999999999", "rollcall-\u{e9}0c4a3e0f51b2d97-17",
    ])
    func `R2: what is no key is none`(text: String) {
        #expect(IncidentKey(text) == nil)
    }
}
