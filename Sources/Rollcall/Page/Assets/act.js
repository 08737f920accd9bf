/** Does what a key stands for with the entry that has the focus; false if it stands for nothing there. */
export function actByKey() { return false; }
