/**
 * The admission store did not answer in time, is away, or was replaced during the call. Whether the call took effect is
 * not known; each may be repeated with the same arguments.
 */
export class AdmissionUnavailableError extends Error {
  override name = 'AdmissionUnavailableError'
}
