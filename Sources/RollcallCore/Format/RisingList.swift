extension RandomAccessCollection where Index == Int {
    /// The first place from which on something is true, in a list in which it is false before and true behind;
    /// the end if it is true nowhere.
    func firstPlace(where isReached: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if isReached(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
