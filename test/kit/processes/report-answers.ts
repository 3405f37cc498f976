// Preload module for a node process (`--import`): prints undocumented responses for the test that started the node.
import { printProblems } from '../answers/answer-check.ts';

printProblems();
