/** The administration API counts seconds since 1970; the formats take ISO 8601. */
export function isoOf(unixSeconds: number): string {
  return new Date(unixSeconds * 1_000).toISOString()
}
