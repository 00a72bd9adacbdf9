/** What went wrong, told to a person in words alone. */
export class CommandError extends Error {
  override name = 'CommandError'
}
