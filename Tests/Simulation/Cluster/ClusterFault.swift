/// A mistake that is planted into a member, its host or its way to the log, to see that a story finds
/// it.
enum ClusterFault: String, CaseIterable {
    // The host.
    case sendBeforeLanded
    case commitBeforeLanded
    case answerBeforeLanded
    case answerUnknown
    case resendClaim
    case claimOutsideOfTurn
    case commitWithoutFolding
    case foldWhileOpen
    case noRebuild
    case adoptFilePolicy
    case keysByMember
    case askNoPeer
    case reignByOwnWall
    case permitFromLastSend
    case touchWithoutPermit
    case touchAfterUnknown
    case noteBeforeDurable
    case reignIsStart
    case saysErasedEarly
    case noHurryOfErasures
    case standUnlisted
    case digestIsIgnored
    case copyOfLost

    // The way to the log.
    case hideBeats
    case beatWithoutCompare
    case compareNothing
    case compareNoRevision
    case refusedIsLanded
    case unknownIsLanded
    case staleReads
    case trimEverything
    case deleteSlots
    case partsByPosition
    case emptyNothing
    case emptyEverything
}
