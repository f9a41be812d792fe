/** What the routes of `/v1` do. */
import { keyed } from "../keyed.ts";
import { postChatCompletions } from "../v1/chat.ts";

import {
  deleteContainer,
  deleteContainerFile,
  getContainer,
  getContainerFile,
  getContainerFileContent,
  getContainerFiles,
  getContainers,
  postContainer,
  postContainerFile,
} from "../v1/containers/routes.ts";
import {
  deleteConversation,
  deleteItem,
  getConversation,
  getItem,
  getItems,
  postConversation,
  postItems,
  updateConversation,
} from "../v1/conversations/routes.ts";
import {
  deleteStoredFile,
  getStoredFile,
  getStoredFileContent,
  getStoredFiles,
  postStoredFile,
} from "../v1/files/routes.ts";

import { postCountTokens, postMessages } from "../v1/messages.ts";
import { getModel, getModelList } from "../v1/models.ts";
import { postCompaction, postInputTokens } from "../v1/responses/compact.ts";
import { keepsResponse, postResponses } from "../v1/responses/create.ts";
import { cancelResponse, deleteResponse, getInputItems, getResponse } from "../v1/responses/stored.ts";

import {
  deleteStoredSkill,
  deleteVersion,
  getContent,
  getDefaultContent,
  getSkill,
  getSkills,
  getVersion,
  getVersions,
  postDefault,
  postSkill,
  postVersion,
} from "../v1/skills/routes.ts";

export const HANDLERS = {
  createMessage: keyed(postMessages, "with tools"),
  countMessageTokens: postCountTokens,
  createChatCompletion: keyed(postChatCompletions, "with tools"),
  listV1Models: getModelList,
  getV1Model: getModel,
  createResponse: keyed(postResponses, "with tools", keepsResponse),
  countResponseTokens: postInputTokens,
  compactResponse: keyed(postCompaction, "with tools"),
  getResponse,
  deleteResponse,
  cancelResponse,
  listResponseInput: getInputItems,
  createConversation: keyed(postConversation, "from the start"),
  getConversation,
  updateConversation,
  deleteConversation,
  listConversationItems: getItems,
  createConversationItems: keyed(postItems, "from the start"),
  getConversationItem: getItem,
  deleteConversationItem: deleteItem,
  listContainers: getContainers,
  createContainer: keyed(postContainer, "from the start"),
  getContainer,
  deleteContainer,
  listContainerFiles: getContainerFiles,
  createContainerFile: keyed(postContainerFile, "from the start"),
  getContainerFile,
  deleteContainerFile,
  getContainerFileContent,
  listStoredSkills: getSkills,
  createStoredSkill: keyed(postSkill, "from the start"),
  getStoredSkill: getSkill,
  updateStoredSkill: postDefault,
  deleteStoredSkill,
  getStoredSkillContent: getDefaultContent,
  listStoredSkillVersions: getVersions,
  createStoredSkillVersion: keyed(postVersion, "from the start"),
  getStoredSkillVersion: getVersion,
  deleteStoredSkillVersion: deleteVersion,
  getStoredSkillVersionContent: getContent,
  listStoredFiles: getStoredFiles,
  createStoredFile: keyed(postStoredFile, "from the start"),
  getStoredFile,
  deleteStoredFile,
  getStoredFileContent,
};
