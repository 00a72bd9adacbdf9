/**
 * The backend without anything in front: the cost of the machine and the load generator themselves.
 */

import { CHAT_PATH, type Subject } from './subject.ts'

export const direct: Subject = {
  name: 'backend direct',
  prepare: async () => ({
    description: 'nothing in between',
    launch: async (backendPort) => ({
      endpoint: { ports: [backendPort], path: CHAT_PATH, model: 'bench', headers: {} },
      processes: () => ({}),
      [Symbol.asyncDispose]: async () => {},
    }),
  }),
}
