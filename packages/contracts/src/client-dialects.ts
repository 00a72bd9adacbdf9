/** The profiles of all client dialects. */

import { chat } from './client-dialects/chat.ts'
import { messages } from './client-dialects/messages.ts'
import type { ClientProfile } from './client-dialects/profile.ts'
import { responses } from './client-dialects/responses.ts'
import type { ClientDialect } from './vendors.ts'

export const CLIENT_DIALECTS: Record<ClientDialect, ClientProfile> = { chat, responses, messages }
