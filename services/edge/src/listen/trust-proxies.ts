/**
 * Whose word counts for a client's address, by `TRUST_PROXY` in Express' syntax.
 */

import express from 'express'
import type { Trusts } from './client-network.ts'

export function trustProxies(trustProxy: boolean | number | string): Trusts {
  // Express compiles the setting; nothing else of this application is used.
  const app = express()
  app.set('trust proxy', trustProxy)
  return app.get('trust proxy fn') as Trusts
}
