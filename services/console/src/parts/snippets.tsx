/**
 * The first request in the reader's programming language, ready to paste. It reads the key from an environment variable,
 * so that no key gets into code.
 */

import { SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import { useConfig } from '../gateway/use-caller.ts'
import { firstModel } from '../core/first-model.ts'
import { usePlan } from '../gateway/queries.ts'
import { CodeBlock } from './code-block.tsx'

export function Snippets() {
  const { gatewayUrl } = useConfig()
  const model = firstModel(usePlan().data?.models ?? [])
  const [language, setLanguage] = useState<SnippetLanguage>('curl')
  return (
    <div>
      <SegmentedControl
        aria-label="Language"
        size="xs"
        mb={10}
        data={[...SNIPPET_LANGUAGES]}
        value={language}
        onChange={(value) => setLanguage(value)}
      />
      <CodeBlock label={`${language} example`} code={snippetFor(language, gatewayUrl, model)} />
    </div>
  )
}

const SNIPPET_LANGUAGES = ['curl', 'Python', 'Node'] as const
type SnippetLanguage = (typeof SNIPPET_LANGUAGES)[number]

const KEY_VARIABLE = 'SVC_KEY'

function snippetFor(language: SnippetLanguage, gatewayUrl: string, model: string): string {
  switch (language) {
    case 'curl':
      return lines(
        `curl ${gatewayUrl}/v1/chat/completions \\`,
        `  -H "authorization: Bearer $${KEY_VARIABLE}" \\`,
        '  -H "content-type: application/json" \\',
        `  -d '{"model":"${model}","messages":[{"role":"user","content":"Hello!"}]}'`,
      )
    case 'Python':
      return lines(
        '# pip install openai',
        'import os',
        'from openai import OpenAI',
        '',
        `client = OpenAI(base_url="${gatewayUrl}/v1", api_key=os.environ["${KEY_VARIABLE}"])`,
        'stream = client.chat.completions.create(',
        `    model="${model}",`,
        '    messages=[{"role": "user", "content": "Hello!"}],',
        '    stream=True,',
        ')',
        'for chunk in stream:',
        '    if chunk.choices:',
        '        print(chunk.choices[0].delta.content or "", end="")',
      )
    case 'Node':
      return lines(
        '// npm install openai',
        "import OpenAI from 'openai'",
        '',
        `const client = new OpenAI({ baseURL: '${gatewayUrl}/v1', apiKey: process.env.${KEY_VARIABLE} })`,
        'const stream = await client.chat.completions.create({',
        `  model: '${model}',`,
        "  messages: [{ role: 'user', content: 'Hello!' }],",
        '  stream: true,',
        '})',
        "for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '')",
      )
  }
}

export function exportKey(key: string): string {
  return `export ${KEY_VARIABLE}=${key}`
}

function lines(...text: string[]): string {
  return text.join('\n')
}
