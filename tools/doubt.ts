/** Ends the text of a write that nobody knows to have happened or not, where the model reads it as it stands. */
export const DOUBT = "It may have happened all the same: check before you try again.";
