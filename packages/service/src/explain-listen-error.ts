/** Explains a server's failure to listen by the variable to change. */

import { EnvironmentError } from './environment.ts'

/** `names`: the variables behind the address. Any other error stays the same. */
export function explainListenError(
  cause: unknown,
  { host, port }: { host: string; port: number },
  names: { host: 'HOST' | 'HEALTH_HOST'; port: 'PORT' | 'HEALTH_PORT' },
): unknown {
  const refuse = (variable: string, message: string) => new EnvironmentError([{ variable, message }])
  switch ((cause as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return refuse(names.port, `${host}:${port} is taken by another process; set ${names.port} to a free port`)
    case 'EACCES':
      return refuse(names.port, `the system keeps port ${port} for others; set ${names.port} to one above 1023`)
    case 'ERR_SOCKET_BAD_PORT':
      return refuse(names.port, `${port} is no port; set ${names.port} to one up to 65535`)
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return refuse(
        names.host,
        `${host} is no address of this machine; set ${names.host} to one, or to 0.0.0.0 for all`,
      )
    default:
      return cause
  }
}
