import type { ChatMessage } from '@gateway/contracts/chat'
import type { Capability } from '@gateway/contracts/job'

/** Lists the capabilities that a target needs to serve this chat. */
export function chatNeeds(request: { messages: ChatMessage[]; tools?: unknown[] | null | undefined }): Capability[] {
  const needs: Capability[] = ['chat']
  if (request.tools?.length) needs.push('tools')
  const hasImage = request.messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => part.type === 'image_url'),
  )
  if (hasImage) needs.push('vision')
  return needs
}
