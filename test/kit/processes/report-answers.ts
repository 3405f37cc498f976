// For a node in a process of its own (`--import`): prints what answers of it are not as documented, for the test that started it.
import { printProblems } from '../answers/answer-check.ts';

printProblems();
