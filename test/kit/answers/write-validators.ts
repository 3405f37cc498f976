// `node write-validators.ts FILE`: writes the module of compiled validators (tools/test-runner/answer-validators.mjs).
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { answersModule } from './documented-answers.ts';

const [, , file = ''] = process.argv;
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, answersModule());
