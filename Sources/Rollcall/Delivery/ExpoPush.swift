import RollcallCore

/// What Expo's push service is asked. Source: Expo, "Send notifications with the Expo Push Service".
package enum ExpoPush {
    /// Messages of one request at most.
    package static let messagesMax = 100
    /// Tickets of one question for receipts at most: what Expo's own client asks for.
    package static let ticketsMax = 300
}
